#include "tests/fuzz/hdf5_checksums.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace dikkat::fuzz {

namespace {

std::uint32_t word(const std::uint8_t* p, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint32_t{p[i]} << 8 * i;
  }
  return value;
}

/// Bob Jenkins' lookup3, hashlittle() with 0 to begin with, which is what HDF5 guards its metadata by.
std::uint32_t lookup3(const std::uint8_t* p, std::size_t length) {
  std::uint32_t a = 0xDEADBEEF + static_cast<std::uint32_t>(length);
  std::uint32_t b = a;
  std::uint32_t c = a;
  const auto rot = [](std::uint32_t x, int k) { return std::rotl(x, k); };
  for (; length > 12; length -= 12, p += 12) {
    a += word(p, 4);
    b += word(p + 4, 4);
    c += word(p + 8, 4);
    a -= c, a ^= rot(c, 4), c += b;
    b -= a, b ^= rot(a, 6), a += c;
    c -= b, c ^= rot(b, 8), b += a;
    a -= c, a ^= rot(c, 16), c += b;
    b -= a, b ^= rot(a, 19), a += c;
    c -= b, c ^= rot(b, 4), b += a;
  }
  if (length == 0) {
    return c;
  }
  a += word(p, length < 4 ? length : 4);
  b += length > 4 ? word(p + 4, length < 8 ? length - 4 : 4) : 0;
  c += length > 8 ? word(p + 8, length - 8) : 0;
  c ^= b, c -= rot(b, 14);
  a ^= c, a -= rot(c, 11);
  b ^= a, b -= rot(a, 25);
  c ^= b, c -= rot(b, 16);
  a ^= c, a -= rot(c, 4);
  b ^= a, b -= rot(a, 14);
  c ^= b, c -= rot(b, 24);
  return c;
}

void seal(std::uint8_t* block, std::size_t length) {
  const std::uint32_t sum = lookup3(block, length);
  for (std::size_t i = 0; i < 4; ++i) {
    block[length + i] = static_cast<std::uint8_t>(sum >> 8 * i);
  }
}

struct Header {
  std::size_t messages = 0, end = 0;  // bytes from its beginning; its checksum follows. 0: it does not fit
  unsigned flags = 0;
};

/// Of the object header (version 2) here.
Header header_at(const std::uint8_t* p, std::size_t rest) {
  if (rest < 6) {
    return {};
  }
  const unsigned flags = p[5];
  const std::size_t at = 6 + (flags & 0x20 ? 16U : 0U) + (flags & 0x10 ? 4U : 0U);
  const std::size_t width = std::size_t{1} << (flags & 3);
  if (at + width > rest || width == 8) {
    return {};
  }
  const std::size_t messages = at + width;
  const std::size_t end = messages + word(p + at, width);
  return end + 4 <= rest ? Header{messages, end, flags} : Header{};
}

/// Seals the blocks (OCHK) that the messages from `at` to `end` say the header goes on in.
void seal_continuations(std::uint8_t* image, std::size_t size, std::size_t at, std::size_t end, unsigned flags, int depth) {
  constexpr std::uint8_t kContinuation = 0x10;
  constexpr std::size_t kSignature = 4;
  constexpr int kMostDepth = 20;
  const std::size_t head = flags & 0x04 ? 6 : 4;  // type, size (2), flags, and an order of creation (2)
  while (at + head <= end) {
    const std::size_t bytes = word(image + at + 1, 2);
    const std::uint8_t* data = image + at + head;
    if (image[at] == kContinuation && bytes >= 16 && at + head + 16 <= end) {
      const std::uint64_t block = word(data, 4) | std::uint64_t{word(data + 4, 4)} << 32;
      const std::uint64_t length = word(data + 8, 4) | std::uint64_t{word(data + 12, 4)} << 32;
      if (block <= size && length <= size - block && length >= kSignature + 4 && std::memcmp(image + block, "OCHK", kSignature) == 0 &&
          depth < kMostDepth) {
        const auto last = static_cast<std::size_t>(block + length - 4);
        seal(image + block, static_cast<std::size_t>(length) - 4);
        seal_continuations(image, size, static_cast<std::size_t>(block) + kSignature, last, flags, depth + 1);
      }
    }
    at += head + bytes;
  }
}

}  // namespace

void repair_checksums(std::uint8_t* image, std::size_t size) {
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t kSuperblock = 44;
  if (size >= kSuperblock + 4 && std::memcmp(image, kHdf5.data(), kHdf5.size()) == 0 && (image[8] == 2 || image[8] == 3)) {
    seal(image, kSuperblock);
  }
  for (std::size_t at = 0; at + 8 <= size; ++at) {
    if (std::memcmp(image + at, "OHDR", 4) == 0) {
      if (const Header header = header_at(image + at, size - at); header.end > 0) {
        seal(image + at, header.end);
        seal_continuations(image, size, at + header.messages, at + header.end, header.flags, 0);
      }
    }
  }
}

}  // namespace dikkat::fuzz
