#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/bpe_vocabulary.h"

/// Tokens and merges in files of byte-level BPE. This header is private to its folder.
namespace dikkat {

/// Returns the ids below `count` by their tokens, in the file's spelling.
nlohmann::ordered_json ids_by_token(const BpeVocabulary& vocabulary, index count);

/// Reads tokens and merges.
class VocabularyReader {
 public:
  /// `ids` is a JSON object of ids by token, in the file's spelling. It may include added tokens, which do not count as tokens of text.
  /// Throws InputError for anything else, and if an added token has a different id there.
  VocabularyReader(const nlohmann::json& ids, const AddedTokens& added_tokens);

  /// Returns whether `ids` has a token with this spelling.
  bool contains(const std::string& text) const { return ids_.contains(text); }
  /// Returns merge number `i`, of two tokens. Throws InputError if one of them is not a token of text.
  Merge merge_of(const std::string& left, const std::string& right, std::size_t i) const;
  /// Returns merge number `i` from a line "left right".
  Merge merge_of(const std::string& line, std::size_t i) const;

  /// Returns the byte pair encoding. Throws InputError if a token of several bytes does not result from any merge, so that no text could
  /// have it (with `ignore_merges` it could). Then the file of merges was probably cut off, and texts would get other tokens.
  Bpe bpe(std::vector<Merge> merges, bool ignore_merges) &&;

 private:
  Token id_of(const std::string& text, std::size_t i) const;

  const AddedTokens& added_tokens_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Token> ids_;
};

}  // namespace dikkat
