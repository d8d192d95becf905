#pragma once

#include <cstdint>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/names.h"
#include "autograd/base/shape.h"

namespace dikkat {

/// The type of a stored tensor's elements, which are little-endian. Files contain its name (name_of), so the order here does not matter.
/// Only bytes_of() computes the size of a tensor, so a type that stores blocks of elements with a common scale can be added.
enum class ElementType : std::uint8_t { f32, f64, u8, i32, i64, u64 };
template <>
struct Names<ElementType> {
  static constexpr std::string_view of[] = {"f32", "f64", "u8", "i32", "i64", "u64"};
};

/// Returns the size of a tensor in bytes, stored without gaps. It cannot overflow: a Shape has at most 2^56 elements.
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
