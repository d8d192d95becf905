#include "train/text/tokenizer_maker.h"

#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<TokenizerMaker> (*maker)(const TokenizerOptions& options);
};

/// A new kind is one more line.
constexpr Kind kKinds[] = {
    {ByteTokenizer::kKind, ByteTokenizer::maker},
    {CharTokenizer::kKind, CharTokenizer::maker},
    {WordTokenizer::kKind, WordTokenizer::maker},
    {BpeTokenizer::kKind, BpeTokenizer::maker},
};

}  // namespace

std::unique_ptr<TokenizerMaker> make_tokenizer_maker(const TokenizerOptions& options) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == options.kind) {
      return kind.maker(options);
    }
    known += concat(known.empty() ? "\"" : ", \"", kind.name, "\"");
  }
  fail_input("tokenizer.kind is \"", options.kind, "\", expected one of ", known);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> documents) {
  const auto maker = make_tokenizer_maker(options);
  index document = 0;
  for (const std::string_view text : documents) {
    try {
      maker->read(text);
    } catch (const EncodeError& error) {
      throw EncodeError(error.offset(), error.problem(), document);
    }
    ++document;
  }
  return maker->make();
}

}  // namespace dikkat
