#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// The form of the data in a headerless token file.
struct TokenForm {
  int width = 2;          // bytes of an id: 2, 4 or 8, little endian
  std::string problem{};  // why this program cannot read the data as ids ("holds text"); empty if it can
};

/// The number of bytes at the start of a file that token_form() looks at.
inline constexpr std::size_t kTokenFormBytes = std::size_t{1} << 20;

/// Judges a headerless file of `size` bytes by its beginning. Such a file does not state the width of its ids, but its data shows it. In
/// ids of 32 bits, every second 16-bit word is 0 or below vocab_size / 65,536. With fewer than 16 ids the width is taken to be 16 bits.
TokenForm token_form(std::span<const std::byte> begin, std::size_t size, index vocab_size);

}  // namespace dikkat
