#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/bpe_vocabulary.h"

/// How files of byte-level BPE hold tokens and merges. Only for the sources of this folder.
namespace dikkat {

/// The ids below `count` by their tokens, in the file's spelling.
nlohmann::ordered_json ids_by_token(const BpeVocabulary& vocabulary, index count);

/// Reads tokens and merges.
class VocabularyReader {
 public:
  /// `ids` is a JSON object of ids by token, in the file's spelling. Added tokens, which it may hold too, are no tokens of text. Throws
  /// InputError for anything else, and where an added token has another id there.
  VocabularyReader(const nlohmann::json& ids, const AddedTokens& added_tokens);

  /// Whether `ids` has a token of this spelling.
  bool contains(const std::string& text) const { return ids_.contains(text); }
  /// Merge number `i`, of two tokens. Throws InputError if one is no token of text.
  Merge merge_of(const std::string& left, const std::string& right, std::size_t i) const;
  /// The same of a line "left right".
  Merge merge_of(const std::string& line, std::size_t i) const;

  /// Throws InputError if a token of several bytes is the result of no merge, and so can be no token of any text (with `ignore_merges` it
  /// can). Then the file of merges was probably cut off, and texts would get other tokens.
  Bpe bpe(std::vector<Merge> merges, bool ignore_merges) &&;

 private:
  Token id_of(const std::string& text, std::size_t i) const;

  const AddedTokens& added_tokens_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Token> ids_;
};

}  // namespace dikkat
