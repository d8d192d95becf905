// Past the gate: any image, parsed in a child process. HDF5 1.10 crashes on some, which is what the child is for. The input is what follows
// the header, so the first bytes of a file are always right. Most of an image is guarded by checksums of HDF5's own, which a stranger makes
// right; so does the mutator here. The child's coverage comes back through shared memory.

#include <vector>

#include "tests/fuzz/child_coverage.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hdf5_checksums.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/isolated_parse.h"

namespace dikkat {

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0) {
    fuzz::repair_checksums(data, size);
  }
  return size;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile place;
  const std::string bytes = std::string(kHeaderBytes, '\0') + std::string(fuzz::text_of(data, size));
  place.put(bytes);
  fuzz::forget_child_coverage();
  const auto parse = [&](const File& file) {
    struct Tell {
      ~Tell() { fuzz::tell_coverage(); }
    } tell;
    return parse_image(file, kFormat);
  };
  fuzz::accepts([&] {
    const File file = File::open_regular(place.path());
    ChildLimits limits = parse_limits(file.size());
    limits.processor_seconds = 2;
    const ImageIndex image = parse_in_child(file, limits, parse);
    std::vector<float> numbers;
    for (const StoredTensor& tensor : image.tensors) {
      numbers.resize(static_cast<std::size_t>(tensor.shape.size()));
      fuzz::hold(file.read(tensor.offset, std::as_writable_bytes(std::span(numbers))) == 0, "tensors can be read");
    }
  });
  fuzz::adopt_child_coverage();
  return 0;
}

}  // namespace dikkat
