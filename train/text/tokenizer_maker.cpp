#include "train/text/tokenizer_maker.h"

namespace dikkat {

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
