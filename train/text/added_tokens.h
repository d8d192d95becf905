#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/token.h"

namespace dikkat {

/// A token that is found in a text by its name, before the text is split into pieces. Special ones are found only where they are asked for;
/// the others, such as Qwen 3's <tool_call>, are text and always found. The flags are those of tokenizer.json.
struct AddedToken {
  std::string name{};
  bool special = true;
  bool normalized = false;   // found in the normalized text, not in the text as it is
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool single_word = false;  // not found beside a character of a word

  bool operator==(const AddedToken&) const = default;
};

using AddedTokens = std::map<Token, AddedToken>;

/// Finds added tokens in texts, as Hugging Face's tokenizers do: from left to right, of several at one place the longest; first those of
/// the text as it is, then, in the normalized text between them, the others. Immutable: threads may share one.
class AddedTokenFinder {
 public:
  /// Throws InputError for a name that is empty, too long or not UTF-8, and for two tokens of one name.
  AddedTokenFinder(const AddedTokens& tokens, bool nfc);

  /// Calls on_text for each part of the text between tokens, normalized if `nfc`, and on_token for each token, in order. Special tokens are
  /// text unless `with_special`. The text must be valid UTF-8.
  void split(std::string_view text, bool with_special, const std::function<void(std::string_view)>& on_text,
             const std::function<void(Token)>& on_token) const;

  /// Whether tokens that are found in every text lie within what Tokenizer::stable_prefix() keeps together: none of them has white space or
  /// looks at what stands beside it.
  bool is_local() const { return is_local_; }
  /// Whether a token that is found in every text takes white space, which decode() cannot give back.
  bool strips() const { return strips_; }

 private:
  /// A token's name as it is searched for.
  struct Pattern {
    std::string name;
    Token id;
    AddedToken flags;
  };
  struct Patterns {
    std::vector<Pattern> sorted;       // by name
    std::array<bool, 256> is_first{};  // whether a name begins with this byte
  };

  static const Pattern* longest_at(const Patterns& patterns, std::string_view text);
  void find(const Patterns& patterns, std::string_view text, bool with_special, const std::function<void(std::string_view)>& on_text,
            const std::function<void(Token)>& on_token) const;

  bool nfc_;
  bool finds_always_ = false;  // some tokens are found in every text
  bool is_local_ = true, strips_ = false;
  Patterns as_is_, normalized_;
};

}  // namespace dikkat
