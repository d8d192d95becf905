#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "autograd/base/compiled_for.h"

namespace dikkat {

/// A bfloat16: the upper half of an f32, 8 bits of precision.
struct bf16 {
  std::uint16_t bits;

  bool operator==(const bf16&) const = default;
};

/// Rounds `value` to bf16 in the upper half of the result, as Intel's vcvtneps2bf16 does: to nearest, ties to even. Denormal numbers become
/// zero, and a NaN stays one. The lower half is undefined. `U` is std::uint32_t or a vector of it.
template <class U>
[[gnu::always_inline]] constexpr U rounded_to_bf16(U value) {  // always, as vectors of sources for other instruction sets differ
  const U magnitude = value & 0x7FFF'FFFFU;
  const U rounded = value + 0x7FFFU + (value >> 16 & 1U);
  const U flushed = magnitude < 0x0080'0000U ? value & 0x8000'0000U : rounded;
  return magnitude > 0x7F80'0000U ? value | 0x0040'0000U : flushed;
}

constexpr bf16 to_bf16(float value) { return {static_cast<std::uint16_t>(rounded_to_bf16(std::bit_cast<std::uint32_t>(value)) >> 16)}; }
constexpr float to_float(bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

/// The type in which numbers stored as T are computed.
template <class T>
struct ComputedOf {
  using type = T;
};
template <>
struct ComputedOf<bf16> {
  using type = float;
};
/// f64 holds each i32.
template <>
struct ComputedOf<std::int32_t> {
  using type = double;
};
template <class T>
using Computed = typename ComputedOf<T>::type;

/// Converts a stored number for computing, and back.
template <class T>
constexpr Computed<T> to_computed(T value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_float(value);
  } else {
    return value;
  }
}
template <class T>
constexpr T to_stored(Computed<T> value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace dikkat
