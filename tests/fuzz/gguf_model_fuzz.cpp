// Fuzzes GGUF files as models: the configuration and the tokenizer that they describe.

#include "tests/fuzz/fuzz.h"
#include "train/exchange/formats/gguf_reader.h"
#include "train/exchange/gguf_model.h"
#include "train/exchange/gguf_tokenizer.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::accepts([&] {
    const WeightFile file = parse_gguf(bytes, "fuzz.gguf");
    fuzz::accepts([&] {
      const ForeignConfig config = read_gguf_config(file);
      fuzz::hold(config.family != nullptr && config.model.n_embd >= 1, "a model that was read has a family and a size");
    });
    fuzz::accepts([&] {
      const auto tokenizer = read_gguf_tokenizer(file);
      fuzz::hold(tokenizer->vocab_size() >= 1, "a tokenizer has tokens");
    });
  });
  return 0;
}

}  // namespace dikkat
