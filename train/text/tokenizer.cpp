#include "train/text/tokenizer.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/tokenizer_json.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*from_documents)(std::span<const std::string_view> documents);
  std::unique_ptr<Tokenizer> (*from_json)(std::string_view json);
};

/// A new kind is one more line.
constexpr Kind kKinds[] = {
    {ByteTokenizer::kKind, ByteTokenizer::from_documents, ByteTokenizer::from_json},
    {CharTokenizer::kKind, CharTokenizer::from_documents, CharTokenizer::from_json},
    {WordTokenizer::kKind, WordTokenizer::from_documents, WordTokenizer::from_json},
};

const Kind& kind_named(std::string_view name) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) {
      return kind;
    }
    known += concat(known.empty() ? "\"" : ", \"", kind.name, "\"");
  }
  fail_input("tokenizer.kind is \"", name, "\", expected one of ", known);
}

}  // namespace

EncodeError::EncodeError(index offset, std::string problem, index document)
    : InputError(concat("byte ", offset, ": ", problem)), offset_(offset), document_(document), problem_(std::move(problem)) {}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string_view> documents) {
  return kind_named(kind).from_documents(documents);
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) {
  return kind_named(string_field(parse_tokenizer(json), "kind")).from_json(json);
}

}  // namespace dikkat
