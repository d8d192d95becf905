#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The bytes and characters that a vocabulary can write after any text.
struct Alphabet {
  std::array<bool, 256> bytes{};       // texts consist of these bytes
  std::vector<char32_t> characters{};  // and of these characters, sorted; empty: all that the bytes make up
};

/// The texts of a tokenizer's tokens as a tree of bytes, without the spaces between them (Tokenizer::puts_spaces_between()).
/// Immutable: threads share it. Special tokens, tokens that sampling never draws, and tokens without text are left out.
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
  /// text is not its tokens' texts one after another, with nothing or with a space between them.
  explicit TokenTrie(const Tokenizer& tokenizer, const std::vector<Token>& marks = {});

  index vocab_size() const { return vocab_size_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Returns another token with the same text, or -1.
  Token same_as(Token token) const { return same_[static_cast<std::size_t>(token)]; }
  index longest() const { return longest_; }
  /// Returns the text of a token; empty if it is left out.
  const std::string& text(Token token) const { return texts_.at(static_cast<std::size_t>(token)); }
  const Alphabet& alphabet() const { return alphabet_; }
  /// Returns whether short tokens write all texts of the alphabet. Then every beginning of a text can be completed.
  bool is_complete() const { return is_complete_; }
  /// Returns whether a space comes between this token and another one of which this is true.
  bool has_spaces(Token token) const { return puts_spaces_ && text(token) != "\n"; }

 private:
  void find_alphabet();

  index vocab_size_ = 0;
  bool puts_spaces_ = false, is_complete_ = true;
  index longest_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::string> texts_;  // the texts of the tokens
  std::vector<Token> same_;         // another token with the same text, or -1
  Alphabet alphabet_;
};

}  // namespace dikkat
