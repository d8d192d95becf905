#pragma once

#include <array>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/text/added_tokens.h"
#include "train/text/hugging_face/text_normalizer.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Finds added tokens in texts, as Hugging Face's tokenizers do: from left to right, and the longest of several at one place. It first
/// searches the original text, and then the normalized text between the tokens found. Immutable: threads may share a finder.
class AddedTokenFinder {
 public:
  /// Throws InputError for a name that is empty, too long or not UTF-8, and for two tokens with the same name.
  AddedTokenFinder(const AddedTokens& tokens, TextNormalizer normalizer);
  AddedTokenFinder(const AddedTokens& tokens, bool nfc) : AddedTokenFinder(tokens, TextNormalizer(nfc)) {}

  /// Calls on_text for each part of the text between tokens, normalized, and on_token for each token, from left to right. Special
  /// tokens are text unless they lie within a range of `markup`. The text must be valid UTF-8.
  void split(std::string_view text, std::span<const ByteRange> markup, const std::function<void(std::string_view)>& on_text,
             const std::function<void(Token)>& on_token) const;

  /// Returns whether Tokenizer::stable_prefix() never splits a token that is found in every text: none of these tokens has white space or
  /// depends on its neighbors.
  bool is_local() const { return is_local_; }
  /// Returns whether a cut between two adjacent characters, of the original or the normalized text, keeps the tokens that are found in
  /// every text.
  bool allows_cut(char32_t before, char32_t after) const { return !depends_ && !joins(as_is_, before, after); }
  bool allows_normalized_cut(char32_t before, char32_t after) const { return !depends_ && !joins(normalized_, before, after); }
  /// Returns whether a token that is found in every text takes white space, which decode() cannot restore.
  bool strips() const { return strips_; }

 private:
  /// A name to search for, with its token.
  struct Pattern {
    std::string name;
    Token id;
    AddedToken flags;
  };
  struct Patterns {
    std::vector<Pattern> sorted;                       // by name
    std::array<bool, 256> is_first{};                  // whether a name begins with this byte
    std::array<std::uint32_t, 257> begin{};            // where the names that begin with this byte begin in `sorted`
    std::set<std::pair<char32_t, char32_t>> joined{};  // adjacent characters of all names: special ones hide others too
  };

  static bool joins(const Patterns& patterns, char32_t before, char32_t after) { return patterns.joined.contains({before, after}); }

  static const Pattern* longest_at(const Patterns& patterns, std::string_view text);
  void find(const Patterns& patterns, std::string_view text, std::span<const ByteRange> markup,
            const std::function<void(std::string_view)>& on_text, const std::function<void(Token)>& on_token) const;

  TextNormalizer normalizer_;
  bool finds_always_ = false;  // whether some tokens are found in every text
  bool is_local_ = true, strips_ = false;
  bool depends_ = false;  // whether one of these tokens depends on its neighbors
  Patterns as_is_, normalized_;
};

}  // namespace dikkat
