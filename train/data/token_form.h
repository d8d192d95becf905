#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// What the data of a headerless token file looks like. At most one of the members is set besides `width`.
struct TokenForm {
  int width = 2;          // bytes of an id: 2, 4 or 8, little endian
  std::string problem{};  // why the data cannot be ids that this program reads: "holds text"; empty if it can
};

/// The bytes from the start of a file that token_form() looks at.
inline constexpr std::size_t kTokenFormBytes = std::size_t{1} << 20;

/// Judges a headerless file of `size` bytes by its beginning. A file without a header does not say how wide its ids are, but the data does:
/// ids of 32 bits leave every second 16-bit word 0, or below vocab_size / 65,536. Fewer than 16 ids are too few to judge, and count as 16
/// bits.
TokenForm token_form(std::span<const std::byte> begin, std::size_t size, index vocab_size);

}  // namespace dikkat
