#pragma once

#include <memory>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/system/json_fields.h"
#include "train/text/hugging_face/read_hugging_face_json.h"
#include "train/text/tokenizer.h"

/// Reads a tokenizer's JSON text, which may come from any file. This header is private to its folder.
namespace dikkat {

/// A tokenizer's JSON text, parsed. The vocabulary and the merges of Hugging Face's tokenizer.json may have a million parts. They stay JSON
/// text, for readers that store no JSON values.
struct TokenizerJson {
  nlohmann::json object;          // has null in place of the two
  std::string_view vocabulary{};  // the text of model.vocab; empty if it is missing
  std::string_view merges{};      // the text of model.merges; empty if it is missing

  JsonFields fields() const { return {object, "tokenizer: its description"}; }
};

/// Parses a text, which must outlive the result. Throws InputError if it is not a JSON object.
TokenizerJson parse_tokenizer(std::string_view text);

/// Returns the tokenizer with this description, of any kind.
std::unique_ptr<Tokenizer> tokenizer_in(const TokenizerJson& json);

/// Reads a parsed bpe_json() or pipeline_json() (train/text/hugging_face/write_hugging_face_json.h). Throws InputError as
/// from_hugging_face_json() does.
BpeContents bpe_contents_in(const TokenizerJson& json);

}  // namespace dikkat
