#pragma once

#include <cstdint>
#include <vector>

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

namespace dikkat::testing {

/// Returns n floats in [low, high), which depend only on the arguments.
inline std::vector<float> numbers(index n, std::uint64_t seed, float low = -1, float high = 1) {
  const RandomStream stream(seed, "test numbers", 0);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (index i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<float>(stream.word(i) >> 8) * 0x1p-24F;
  }
  return values;
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  std::vector<To> other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    other[i] = static_cast<To>(values[i]);
  }
  return other;
}

/// Returns the numbers, each rounded to bf16.
inline std::vector<bf16> narrowed(const std::vector<float>& numbers) {
  std::vector<bf16> all;
  for (const float number : numbers) {
    all.push_back(to_bf16(number));
  }
  return all;
}

/// Sizes around those of vectors and tiles.
inline constexpr index kRaggedSizes[] = {1, 7, 15, 16, 17, 63, 65, 129};

}  // namespace dikkat::testing
