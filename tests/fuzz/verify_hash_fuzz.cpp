// Fuzzes the check of a checkpoint before its index is read: its header, and the hash of everything after it. Mode 0 takes the bytes
// unchanged. The other modes give them hashes that nobody could guess: mode 1 that of the header, mode 2 that of the image too.

#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz.h"
#include "train/checkpoint/verify_hash.h"

namespace dikkat {

namespace {

constexpr std::size_t kHashAt = std::size_t{kHeaderBytes} - 64;

/// A header of the lines before the first empty line, followed by the rest.
std::string sealed(std::string_view input) {
  const std::size_t end = std::min({input.find("\n\n\n"), input.size(), kHashAt});
  std::string block(input.substr(0, end));
  block.resize(kHashAt);
  return block + to_hex(sha256(block)) + std::string(input.substr(std::min(end + 3, input.size())));
}

/// A valid file with this image and no index.
std::string right(std::string_view image) {
  const Digest digest = root_hash(static_cast<index>(image.size()), [&](index offset, std::span<std::byte> out) {
    std::memcpy(out.data(), image.data() + offset, out.size());
  });
  return render_header({.length = kHeaderBytes + static_cast<index>(image.size()),
                        .step = 3,
                        .index_begin = kHeaderBytes + static_cast<index>(image.size()),
                        .root = digest}) +
         std::string(image);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile place;
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 3);
  const std::string bytes = mode == 0 ? std::string(input) : mode == 1 ? sealed(input) : right(input);
  place.put(bytes);
  const bool accepted = fuzz::accepts([&] {
    const File file = File::open_regular(place.path());
    const Header header = verify_hash(file, file.size());
    fuzz::hold(header.length == static_cast<index>(bytes.size()) && header.step >= 0 && header.format == kFormat, "the header is right");
    fuzz::hold(render_header(header) == bytes.substr(0, kHeaderBytes), "a header has one text");
  });
  fuzz::hold(accepted || mode != 2, "a right file is accepted");
  return 0;
}

}  // namespace dikkat
