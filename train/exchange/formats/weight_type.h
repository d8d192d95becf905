#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// The types of elements in other programs' weight files, all little-endian, that can be converted to f32. Elements of a type are stored in
/// blocks: of one element, or of 32 with a common f16 scale (q8_0: scale, 32 i8; q4_0: scale, 16 bytes that hold elements i and i + 16 in
/// their lower and upper four bits, as value / scale + 8). `other`: a type that a file may have, and that is named and not converted.
enum class WeightType : std::uint8_t { f64, f32, f16, bf16, q8_0, q4_0, other };

constexpr std::string_view name_of(WeightType type) {
  switch (type) {
    case WeightType::f64: return "f64";
    case WeightType::f32: return "f32";
    case WeightType::f16: return "f16";
    case WeightType::bf16: return "bf16";
    case WeightType::q8_0: return "q8_0";
    case WeightType::q4_0: return "q4_0";
    case WeightType::other: break;
  }
  return "?";
}

inline void append_to(std::string& out, WeightType type) { out += name_of(type); }

/// How elements lie in memory: `bytes` for every `elements`.
struct BlockLayout {
  index elements;
  index bytes;
};

/// Throws nothing; {1, 0} for `other`.
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

/// a * b for numbers of 0 and more; nullopt where that is more than an index holds.
constexpr std::optional<index> checked_product(index a, index b) {
  index product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

/// The elements of an array with these extents, all 0 or more; nullopt where the product of those that are not 0 is more than an index
/// holds.
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

/// The bytes of an array of this shape, row-major; nullopt where that is more than an index holds, or rows (the last extent) are not whole
/// blocks.
constexpr std::optional<index> byte_count(BlockLayout layout, std::span<const index> shape) {
  const auto elements = element_count(shape);
  if (!elements || (shape.empty() ? 1 : shape.back()) % layout.elements != 0) {
    return std::nullopt;
  }
  return checked_product(*elements / layout.elements, layout.bytes);
}

/// "[50257, 768]".
std::string shape_text(std::span<const index> shape);

/// A name from a file for a message: in quotation marks, shortened, without what a terminal might take for a command.
std::string in_quotes(std::string_view name);

}  // namespace dikkat
