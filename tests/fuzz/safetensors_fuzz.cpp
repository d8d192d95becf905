// Fuzzes safetensors: a file (mode 0), a header with the right length and some data (mode 1), and an index (mode 2).

#include <algorithm>
#include <cstring>

#include "tests/fuzz/weights.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/formats/safetensors_index.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 3);
  // Mode 2 reads an index.
  if (mode == 2) {
    fuzz::accepts([&] {
      const std::vector<ShardOfTensor> map = parse_safetensors_index(input, "fuzz.index.json");
      fuzz::hold(!map.empty() && std::is_sorted(map.begin(), map.end()), "an index names tensors");
      for (const auto& [tensor, shard] : map) {
        fuzz::hold(!shard.empty() && shard.find('/') == std::string::npos && shard != "..", "files are in the folder of the index");
      }
    });
    return 0;
  }
  // Modes 0 and 1 read a file.
  std::string file(input);
  if (mode == 1) {
    const unsigned data_bytes = fuzz::choice(input, 128);
    const std::uint64_t length = input.size();
    file.assign(reinterpret_cast<const char*>(&length), sizeof length).append(input).append(data_bytes, 'x');
  }
  const auto bytes = std::as_bytes(std::span(file));
  fuzz::accepts([&] {
    const WeightFile weights = parse_safetensors(bytes, "fuzz.safetensors");
    fuzz::hold_weights(weights, bytes);
    index total = 0;
    for (const WeightTensor& tensor : weights.tensors()) {
      total += tensor.bytes;
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    fuzz::hold(total == static_cast<index>(file.size() - sizeof length - length), "tensors fill the file");
  });
  return 0;
}

}  // namespace dikkat
