// Fuzzes GGUF files.

#include "tests/fuzz/weights.h"
#include "train/exchange/formats/gguf_reader.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::accepts([&] { fuzz::hold_weights(parse_gguf(bytes, "fuzz.gguf"), bytes); });
  return 0;
}

}  // namespace dikkat
