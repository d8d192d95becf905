#pragma once

#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "train/system/json_fields.h"
#include "train/text/bpe_vocabulary.h"
#include "train/text/tokenizer.h"

/// Reading of a tokenizer's JSON text, which may come from any file. This header is private to its folder.
namespace dikkat {

/// Parses the text. Throws InputError if it is not a JSON object.
nlohmann::json parse_tokenizer(std::string_view text);

/// Returns the fields of parse_tokenizer()'s result, which it keeps by reference.
inline JsonFields tokenizer_fields(const nlohmann::json& object) { return {object, "tokenizer: its description"}; }

/// Returns the tokenizer with these fields, of any kind.
std::unique_ptr<Tokenizer> tokenizer_in(const JsonFields& fields);

/// Reads a parsed bpe_json() (train/text/write_hugging_face_json.h).
BpeVocabulary bpe_vocabulary_in(const JsonFields& fields);

}  // namespace dikkat
