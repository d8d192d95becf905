#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/names.h"
#include "train/system/in_quotes.h"

namespace dikkat {

/// The element types in other programs' weight files, all little-endian. Elements are stored in blocks: of one element, or of 32 or 256
/// elements that share scales (autograd/base/ggml_blocks.h). Types after q4_0 are only read. `other` is any type that cannot be converted
/// to f32.
enum class WeightType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_K,
  q3_K,
  q4_K,
  q5_K,
  q6_K,
  iq4_nl,
  iq4_xs,
  other
};
template <>
struct Names<WeightType> {
  static constexpr std::string_view of[] = {"f64",  "f32",  "f16",  "bf16", "q8_0", "q4_0",   "q4_1",   "q5_0", "q5_1",
                                            "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs", "?"};
};

/// Returns whether this program can write the type.
constexpr bool can_be_written(WeightType type) { return type <= WeightType::q4_0; }

inline void append_to(std::string& out, WeightType type) { out += name_of(type); }

/// A type's blocks: every `elements` elements take `bytes` bytes.
struct BlockLayout {
  index elements;
  index bytes;
};

/// Returns the blocks of a type; {1, 0} for `other`.
constexpr BlockLayout layout_of(WeightType type) {
  constexpr BlockLayout kLayouts[] = {{1, 8},    {1, 4},     {1, 2},     {1, 2},     {32, 34},   {32, 18}, {32, 20},   {32, 22}, {32, 24},
                                      {256, 84}, {256, 110}, {256, 144}, {256, 176}, {256, 210}, {32, 18}, {256, 136}, {1, 0}};
  static_assert(std::size(kLayouts) == std::size(Names<WeightType>::of));
  return kLayouts[static_cast<std::size_t>(type)];
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
