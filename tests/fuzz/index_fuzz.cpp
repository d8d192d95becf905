// Fuzzes the index of a checkpoint whose hashes are right, as a stranger could make it. The input is the index; the image before it never
// changes. The mutator often changes an entry and puts the index together again, since most changes of raw bytes break a length.

#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/train/checkpoint/forged.h"
#include "train/checkpoint/checkpoint_index.h"
#include "train/checkpoint/load.h"

namespace dikkat {

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
}

namespace {

constexpr std::size_t kImageBytes = 2048;

void mutate(std::string& text) {
  const std::size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
}

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  forged::Entries entries;
  try {
    entries = forged::entries_in(fuzz::text_of(data, size));
  } catch (const InputError&) {
  }
  if (seed % 4 == 0 || entries.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  forged::Entry& entry = entries[seed / 64 % entries.size()];
  switch (seed / 4 % 16) {
    case 0: entry.required = !entry.required; break;
    case 1: mutate(entry.kind); break;
    case 2: mutate(entry.name); break;
    case 3: entries.push_back(entry); break;
    case 4: entry.kind = entries.front().kind; break;
    default: mutate(entry.value);
  }
  if (seed / 4 % 16 != 5) {
    forged::sort(entries);
  }
  const std::string changed = forged::index_of(entries);
  if (changed.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile place;
  forged::Parts parts{.step = 0, .image = std::string(kImageBytes, 'x'), .index_text = std::string(fuzz::text_of(data, size))};
  place.put(forged::sealed(parts));
  const bool accepted = fuzz::accepts([&] {
    const File file = File::open_regular(place.path());
    parts.step = read_contents(file, kHeaderBytes + index{kImageBytes}, file.size()).state.step;
  });
  if (!accepted) {
    return 0;
  }
  place.put(forged::sealed(parts));
  const CheckpointFile checkpoint = CheckpointFile::open(place.path());
  index bytes = static_cast<index>(checkpoint.config().size() + checkpoint.tokenizer().size());
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    bytes += tensor.bytes;
    fuzz::hold(bytes <= index{kImageBytes}, "what is named lies in the file, each byte once");
    std::vector<std::byte> elements(static_cast<std::size_t>(tensor.bytes));
    checkpoint.read(tensor.path, tensor.type, tensor.shape, elements.data());
    fuzz::hold(std::all_of(elements.begin(), elements.end(), [](std::byte b) { return b == std::byte{'x'}; }), "tensors lie in the image");
  }
  return 0;
}

}  // namespace dikkat
