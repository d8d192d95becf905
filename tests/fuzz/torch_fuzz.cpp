// Fuzzes files of torch.save: the archive (mode 0), and a pickle in a valid archive (mode 1), with some storages.

#include "tests/fuzz/weights.h"
#include "tests/train/exchange/formats/stored_zip.h"
#include "train/exchange/formats/torch_file.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 2);
  static const std::string storage(96, 'x');
  formats_test::ZippedFiles files{{"a/data.pkl", input}};
  for (const char* name : {"a/data/0", "a/data/1", "a/data/2", "a/data/3", "a/data/4", "a/data/5", "a/data/6", "a/data/7", "a/data/8",
                           "a/data/9", "a/data/10", "a/data/11", "a/data/12"}) {
    files.emplace_back(name, storage);
  }
  const std::string file = mode == 0 ? std::string(input) : formats_test::stored_zip(files);
  const auto bytes = std::as_bytes(std::span(file));
  fuzz::accepts([&] { fuzz::hold_weights(parse_torch(bytes, "fuzz.pt"), bytes); });
  return 0;
}

}  // namespace dikkat
