#pragma once

#include <bit>
#include <cstdint>

namespace dikkat {

/// Converts a number from IEEE binary16. This is exact, and a NaN keeps its bits.
constexpr float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  const std::uint32_t moved = (magnitude << 13U) + (112U << 23U);  // the exponents' biases are 15 and 127
  const std::uint32_t special = magnitude >= 0x7C00U ? moved + (112U << 23U) : moved;
  // A denormal number is its integer times 2^-24, which f32 holds exactly.
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  return std::bit_cast<float>(sign | (magnitude < 0x0400U ? small : special));
}

}  // namespace dikkat
