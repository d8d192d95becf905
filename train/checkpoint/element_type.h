#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/shape.h"

namespace dikkat {

/// The type of a stored tensor's elements, which are little-endian. Files contain its name (name_of), so the order here does not matter.
/// Only bytes_of() computes the size of a tensor, so a type that stores blocks of elements with a common scale can be added.
enum class ElementType : std::uint8_t { f32, f64, u8, i32, i64, u64 };

inline constexpr std::array kElementTypes{ElementType::f32, ElementType::f64, ElementType::u8,
                                          ElementType::i32, ElementType::i64, ElementType::u64};

constexpr std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::f64: return "f64";
    case ElementType::u8: return "u8";
    case ElementType::i32: return "i32";
    case ElementType::i64: return "i64";
    case ElementType::u64: return "u64";
  }
  return "?";
}

/// The element type with this name; nullopt for a name that this version does not know.
constexpr std::optional<ElementType> element_type_of(std::string_view name) {
  for (const ElementType type : kElementTypes) {
    if (name_of(type) == name) {
      return type;
    }
  }
  return std::nullopt;
}

/// The size of a tensor in bytes, stored without gaps. It cannot overflow: a Shape has at most 2^56 elements.
constexpr index bytes_of(ElementType type, const Shape& shape) {
  const index element = [type]() -> index {
    switch (type) {
      case ElementType::u8: return 1;
      case ElementType::f32:
      case ElementType::i32: return 4;
      case ElementType::f64:
      case ElementType::i64:
      case ElementType::u64: return 8;
    }
    return 0;
  }();
  return shape.size() * element;
}

}  // namespace dikkat
