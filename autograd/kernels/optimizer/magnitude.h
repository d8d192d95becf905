#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dikkat::kernels {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Returns |x| as an integer that has the same order; infinity and NaN are the largest. The compiler vectorizes loops that look for the
/// maximum.
template <class T>
Bits<T> magnitude(T x) {
  return std::bit_cast<Bits<T>>(x) & (std::numeric_limits<Bits<T>>::max() >> 1);
}
template <class T>
inline constexpr Bits<T> kInfiniteMagnitude = std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());

}  // namespace dikkat::kernels
