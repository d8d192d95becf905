#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/denormals.h"
#include "autograd/simd/simd.h"

// Tests compare functions of SIMD vectors with the C library's, computed in f64.
namespace dikkat::testing {

inline constexpr int kFloatLanes = static_cast<int>(simd::kLanes<float>);
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns |found - exact| in units of the last of the 24 bits of `exact` as a float.
inline double ulps(float found, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(static_cast<double>(found) - exact) / std::ldexp(1.0, exponent - 24);
}

/// Calls f(x, function(x)) for every thousandth float x, of every exponent and both signs, including NaNs and infinities.
template <class Y, class F>
void over_all_floats(Y&& function, F&& f) {
  const FlushDenormals flushed;  // as in kernels: no intermediate result may be a denormal
  for (std::uint64_t first = 0; first < 1ULL << 32; first += kFloatLanes * 1000) {
    simd::Vec<float> x{};
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      x[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(first + static_cast<std::uint64_t>(lane) * 1000));
    }
    const simd::Vec<float> y = function(x);
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      f(x[lane], y[lane]);
    }
  }
}

/// Expects that a lane of f(x, y) has the same bits, whatever numbers are in the other lanes. x[i] belongs to y[i].
template <class F>
void expect_lanes_apart(const std::vector<float>& x, const std::vector<float>& y, F&& f) {
  for (std::size_t first = 0; first < x.size(); ++first) {
    simd::Vec<float> mixed_x{}, mixed_y{};
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const std::size_t i = (first + static_cast<std::size_t>(lane) * 7) % x.size();
      mixed_x[lane] = x[i];
      mixed_y[lane] = y[i];
    }
    const simd::Vec<float> together = f(mixed_x, mixed_y);
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const simd::Vec<float> apart = f(simd::broadcast(mixed_x[lane]), simd::broadcast(mixed_y[lane]));
      EXPECT_EQ(std::bit_cast<std::uint32_t>(together[lane]), std::bit_cast<std::uint32_t>(apart[lane]))
          << mixed_x[lane] << ", " << mixed_y[lane] << " in lane " << lane;
    }
  }
}

}  // namespace dikkat::testing
