#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <tsl/robin_map.h>

#include "train/text/bpe_vocabulary.h"

/// Tokens and merges in files of BPE. This header is private to its folder.
namespace dikkat {

/// Returns the ids below `count` by their tokens, in the file's spelling.
nlohmann::ordered_json ids_by_token(const BpeVocabulary& vocabulary, index count);

/// Ids by token. The map keeps hashes, so that a search compares few strings, which are far apart in memory.
using IdsByText = tsl::robin_map<std::string_view, Token, std::hash<std::string_view>, std::equal_to<>,
                                 std::allocator<std::pair<std::string_view, Token>>, true>;

/// Tokens, in the file's spelling, and their ids. The keys of `ids` are views of `tokens`, so the two move together.
struct TokenTexts {
  std::vector<std::string> tokens{};  // by id; empty: no token has the id
  IdsByText ids{};
};
/// Throws InputError for two equal tokens.
TokenTexts token_texts(std::vector<std::string> tokens);

/// The ids of a vocabulary by their tokens, in the file's spelling. Tokens may include added tokens.
class VocabularyIds {
 public:
  /// Reads the text of a JSON object of ids by token. `added` is the number of added tokens, which may have further ids. Throws InputError
  /// for anything else, a token or an id that occurs twice, an empty token, and an id that leaves many ids unused.
  VocabularyIds(std::string_view json, std::size_t added);
  VocabularyIds(VocabularyIds&&) noexcept = default;

  /// Returns the number of tokens.
  index size() const { return static_cast<index>(texts_.ids.size()); }
  /// Returns the tokens by id; empty: no token has the id.
  const std::vector<std::string>& tokens() const { return texts_.tokens; }
  /// Returns the id of a token, or nullopt.
  std::optional<Token> find(std::string_view text) const;
  bool contains(std::string_view text) const { return texts_.ids.contains(text); }
  TokenTexts take() && { return std::move(texts_); }

 private:
  TokenTexts texts_;
};

/// Calls f(left, right, index) for each merge in the text of a JSON array, whose items are "LEFT RIGHT" or ["LEFT", "RIGHT"]. Throws
/// InputError for anything else.
void read_merges(std::string_view json, const std::function<void(std::string_view, std::string_view, std::size_t)>& f);
/// Divides "LEFT RIGHT", the merge with the index `i`. Throws InputError unless it has exactly one space.
std::pair<std::string_view, std::string_view> sides_of_merge(std::string_view line, std::size_t i);

/// Throws InputError if an added token has another id in the vocabulary, or the id of another token of the vocabulary.
void require_same_ids(const VocabularyIds& ids, const AddedTokens& added_tokens);
/// Returns the id of one side of the merge with the index `i`. Throws InputError if it is not a token of text.
Token side_of_merge(const VocabularyIds& ids, const AddedTokens& added_tokens, std::string_view text, std::size_t i);

/// Reads tokens and merges of byte-level BPE.
class VocabularyReader {
 public:
  /// `ids` may include added tokens, which do not count as tokens of text. Keeps references to both.
  VocabularyReader(const VocabularyIds& ids, const AddedTokens& added_tokens);

  /// Returns the merge of two tokens, which has the index `i`. Throws InputError if one of them is not a token of text.
  Merge merge_of(std::string_view left, std::string_view right, std::size_t i) const;
  /// Returns the merge on a line "left right", which has the index `i`.
  Merge merge_of(std::string_view line, std::size_t i) const;

  /// Returns the byte pair encoding. Throws InputError if a token of several bytes does not result from any merge, so that no text could
  /// have it (with `ignore_merges` it could). Then the file of merges was probably cut off, and texts would get other tokens.
  Bpe bpe(std::vector<Merge> merges, bool ignore_merges) &&;

 private:
  const VocabularyIds& ids_;
  const AddedTokens& added_tokens_;
  std::vector<std::string> tokens_;
};

}  // namespace dikkat
