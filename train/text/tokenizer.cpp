#include "train/text/tokenizer.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/tokenizer_json.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {

EncodeError::EncodeError(index offset, std::string problem, index document)
    : InputError(concat("byte ", offset, ": ", problem)), offset_(offset), document_(document), problem_(std::move(problem)) {}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) {
  const nlohmann::json object = parse_tokenizer(json);
  if (object.contains("model")) {
    return std::make_unique<BpeTokenizer>(from_hugging_face_json(json));
  }
  const std::string kind = string_field(object, "kind");
  if (kind == ByteTokenizer::kKind) {
    return ByteTokenizer::from_json(json);
  }
  if (kind == CharTokenizer::kKind) {
    return CharTokenizer::from_json(json);
  }
  if (kind == WordTokenizer::kKind) {
    return WordTokenizer::from_json(json);
  }
  fail_input("tokenizer: its kind is \"", kind, "\", expected byte, char or word, or a tokenizer.json of byte-level BPE");
}

}  // namespace dikkat
