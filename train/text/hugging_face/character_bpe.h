#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "train/choices/tokenizer.h"
#include "train/text/bpe.h"
#include "train/text/token.h"

namespace dikkat {

struct TokenTexts;

/// Thrown for a character that a vocabulary cannot express, or a word without a token.
class UnknownText : public std::exception {
 public:
  explicit UnknownText(std::string_view which) : text(which), place(which.data()) {}
  const char* what() const noexcept override { return "a text has no token"; }

  std::string text;
  const char* place;  // where it was, perhaps in memory that is freed
};

/// The rules of a tokenizer.json's model.
struct CharacterBpeRules {
  bool byte_fallback = false;            // a character without a token becomes the tokens of its bytes, <0x00> to <0xFF>
  bool fuse_unknown = false;             // adjacent unknown characters become one token
  bool ignore_merges = false;            // a word that is a token becomes that token
  std::optional<Token> unknown{};        // the token of characters that have none
  std::optional<SymbolSplit> symbols{};  // without merges: a word is one token (the model WordLevel), or is divided into the longest ones

  bool operator==(const CharacterBpeRules&) const = default;
};

/// Byte pair encoding over characters, as in Hugging Face's tokenizers. A word starts as the tokens of its characters, and pairs are merged
/// by rank. Immutable: threads may share an instance.
///
/// A word may have many megabytes (for SentencePiece, a text is one word). It is cut wherever no merge joins the two characters, which
/// changes nothing: no token ever has both. The pieces are encoded separately, and those that occur again are remembered.
class CharacterBpe {
 public:
  /// `tokens` are in the file's spelling, by id; an empty one reserves its id. `merges` are in the order of priority. Tokens in `never`
  /// (special ones) are never produced. Throws InputError for two equal tokens, and for a merge that occurs twice or makes no token.
  CharacterBpe(std::vector<std::string> tokens, std::vector<Merge> merges, CharacterBpeRules rules, const std::vector<Token>& never = {});
  /// Does the same for tokens whose ids are known.
  CharacterBpe(TokenTexts texts, std::vector<Merge> merges, CharacterBpeRules rules, const std::vector<Token>& never = {});
  ~CharacterBpe();
  CharacterBpe(CharacterBpe&&) noexcept;
  CharacterBpe& operator=(CharacterBpe&&) noexcept;

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<Merge>& merges() const { return merges_; }
  const CharacterBpeRules& rules() const { return rules_; }
  /// Returns the id of a token in the file's spelling, special ones included.
  std::optional<Token> id_of(std::string_view text) const;
  /// Returns the token of a merge.
  Token result_of(std::size_t merge) const { return results_[merge]; }

  /// The pieces that were encoded before, for one thread.
  class Memory {
   public:
    /// Returns the tokens of a piece, or nullopt if it is not known.
    std::optional<std::span<const Token>> find(std::string_view piece) const;
    /// Keeps the tokens of a piece, unless it knows many already.
    void keep(std::string_view piece, std::span<const Token> tokens);

   private:
    struct Hash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    struct Range {
      std::uint32_t first, count;
    };
    static constexpr std::size_t kMost = 1 << 17;  // pieces

    tsl::robin_map<std::string, Range, Hash, std::equal_to<>> ranges_;
    std::vector<Token> tokens_;
  };

  /// Appends the tokens of a word of valid UTF-8. Takes O(n log n). Throws UnknownText for a character or word without a token, unless
  /// there is one for unknown text.
  void encode(std::string_view word, Memory& memory, std::vector<Token>& out) const;

  /// Returns whether a word can be cut between two adjacent characters without a change of its tokens. A word that is a token because of
  /// ignore_merges is not cut there either. A word that must be one token cannot be cut.
  bool allows_cut(char32_t before, char32_t after) const;
  /// Returns whether some characters without a token become rules().unknown.
  bool produces_unknown() const;

 private:
  struct Tables;

  void encode_piece(std::string_view piece, std::vector<Token>& out) const;
  void encode_longest(std::string_view word, std::vector<Token>& out) const;

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  std::vector<Token> results_;
  CharacterBpeRules rules_;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace dikkat
