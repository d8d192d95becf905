// Fuzzes model files of llm.c. In mode 1 the file is made as long as its header requires, if that is short enough.

#include <cstring>

#include "tests/fuzz/weights.h"
#include "train/exchange/formats/llmc.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHeaderBytes = 1024;
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 2);
  std::string file(input);
  // Mode 1 keeps the sizes small, and the file as long as they require.
  if (mode == 1) {
    std::int32_t numbers[8]{};
    file.resize(kHeaderBytes, '\0');
    std::memcpy(numbers, file.data(), sizeof numbers);
    for (int i = 2; i < 8; ++i) {
      numbers[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(numbers[i]) % 7);
    }
    std::memcpy(file.data(), numbers, sizeof numbers);
    index elements = 0;
    const LlmcHeader header{.max_seq_len = numbers[2],
                            .vocab_size = numbers[3],
                            .layers = numbers[4],
                            .heads = numbers[5],
                            .channels = numbers[6],
                            .padded_vocab_size = numbers[7]};
    for (const LlmcTensor& tensor : llmc_tensors(header)) {
      elements += element_count(tensor.shape).value_or(0);
    }
    file.resize(kHeaderBytes + static_cast<std::size_t>(elements) * (numbers[1] == 3 ? 4 : 2), '\1');
  }
  const auto bytes = std::as_bytes(std::span(file));
  fuzz::accepts([&] {
    const WeightFile weights = parse_llmc(bytes, "fuzz.bin");
    fuzz::hold_weights(weights, bytes);
    fuzz::hold(weights.tensors().size() == 16 && weights.metadata().size() == 6, "a model of llm.c has 16 tensors and 6 numbers");
  });
  return 0;
}

}  // namespace dikkat
