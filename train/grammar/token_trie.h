#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The bytes and characters that a vocabulary can write after any text.
struct Alphabet {
  std::array<bool, 256> bytes{};       // texts consist of these bytes
  std::vector<char32_t> characters{};  // and of these characters, sorted; empty: all that the bytes make up
};

/// The texts of a tokenizer's tokens as a tree of bytes. Immutable: threads share it. Special tokens, tokens that sampling never draws, and
/// tokens without text are left out.
class TokenTrie {
 public:
  /// A byte of a token. Nodes are in depth-first order.
  struct Node {
    std::uint8_t byte;
    std::uint16_t depth;  // counted from 1
    std::int32_t token;   // the first token that ends here, or -1
    std::int32_t after;   // the node after this one's descendants
  };

  /// `marks` are special tokens that are not left out: their names are text, such as <tool_call>. Throws InputError for a tokenizer whose
  /// text is not its tokens' texts one after another ("word"), or that has no single characters.
  explicit TokenTrie(const Tokenizer& tokenizer, const std::vector<Token>& marks = {});

  index vocab_size() const { return vocab_size_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Returns another token with the same text, or -1.
  Token same_as(Token token) const { return same_[static_cast<std::size_t>(token)]; }
  index longest() const { return longest_; }
  /// Returns the text of a token; empty if it is left out.
  const std::string& text(Token token) const { return texts_.at(static_cast<std::size_t>(token)); }
  const Alphabet& alphabet() const { return alphabet_; }

 private:
  void find_alphabet(std::string_view kind);

  index vocab_size_ = 0;
  index longest_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::string> texts_;  // the texts of the tokens
  std::vector<Token> same_;         // another token with the same text, or -1
  Alphabet alphabet_;
};

}  // namespace dikkat
