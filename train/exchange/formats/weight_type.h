#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/names.h"
#include "train/system/in_quotes.h"

namespace dikkat {

/// The element types in other programs' weight files, all little-endian. Elements are stored in blocks: of one element, or of 32 elements
/// that share an f16 scale. A block of q8_0 is the scale and 32 i8. A block of q4_0 is the scale and 16 bytes. The lower and upper four
/// bits of byte i are elements i and i + 16, as value / scale + 8. `other` is any type that cannot be converted to f32.
enum class WeightType : std::uint8_t { f64, f32, f16, bf16, q8_0, q4_0, other };
template <>
struct Names<WeightType> {
  static constexpr std::string_view of[] = {"f64", "f32", "f16", "bf16", "q8_0", "q4_0", "?"};
};

inline void append_to(std::string& out, WeightType type) { out += name_of(type); }

/// A type's blocks: every `elements` elements take `bytes` bytes.
struct BlockLayout {
  index elements;
  index bytes;
};

/// Returns the blocks of a type; {1, 0} for `other`.
constexpr BlockLayout layout_of(WeightType type) {
  switch (type) {
    case WeightType::f64: return {1, 8};
    case WeightType::f32: return {1, 4};
    case WeightType::f16:
    case WeightType::bf16: return {1, 2};
    case WeightType::q8_0: return {32, 34};
    case WeightType::q4_0: return {32, 18};
    case WeightType::other: break;
  }
  return {1, 0};
}

/// Returns a * b for a and b of 0 or more; nullopt if the product does not fit into an index.
constexpr std::optional<index> checked_product(index a, index b) {
  index product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

/// Returns the number of elements of an array with these extents, all 0 or more. Returns nullopt if the product of the extents above 0 does
/// not fit into an index.
constexpr std::optional<index> element_count(std::span<const index> shape) {
  index most = 1;
  bool none = false;
  for (const index extent : shape) {
    none = none || extent == 0;
    const auto product = checked_product(most, extent == 0 ? 1 : extent);
    if (!product) {
      return std::nullopt;
    }
    most = *product;
  }
  return none ? 0 : most;
}

/// Returns the bytes of a row-major array of this shape. Returns nullopt if they do not fit into an index, or if rows (the last extent) are
/// not whole blocks.
constexpr std::optional<index> byte_count(BlockLayout layout, std::span<const index> shape) {
  const auto elements = element_count(shape);
  if (!elements || (shape.empty() ? 1 : shape.back()) % layout.elements != 0) {
    return std::nullopt;
  }
  return checked_product(*elements / layout.elements, layout.bytes);
}

/// Returns the shape for a message: "[50257, 768]".
std::string shape_text(std::span<const index> shape);

}  // namespace dikkat
