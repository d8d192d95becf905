#pragma once

#include <cmath>

#include "autograd/base/simd.h"

namespace dikkat::simd {

namespace detail {

constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits

/// p 2^n for p in [0.7, 1.5] and shifted = kRound + n. For n = -126 it is 0; n may be 128, where 2^n is no float: from the largest float on
/// it is infinite.
inline Vec<float> times_power_of_two(Vec<float> p, Vec<float> shifted) {
  IntVec<float> exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);  // n in the low bits
  exponent = (exponent + 126) << 23;                  // 2^(n-1)
  Vec<float> scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return p * 2.0F * scale;  // in this order: p * scale may be denormal, and flushed to zero
}

}  // namespace detail

/// exp of each lane. f32: relative error below 2 ulp on [-86.98, 88.72]; 0 below -86.99, inf above, NaN for NaN.
/// Cody and Waite's reduction x = n ln 2 + r, |r| <= ln 2 / 2, then a polynomial whose relative error from e^r is at most 2e-8 (of least
/// error among those of degree 6 that are 1 at 0). No lane is looked at twice: x is brought to where the power of two comes out as 0, or
/// the product as infinite, by itself.
inline Vec<float> exp(Vec<float> x) {
  constexpr float kLowest = -87.3F;   // n = -126
  constexpr float kHighest = 88.75F;  // n = 128, and more than the largest float
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;

  const Vec<float> bounded = min<float>(broadcast(kHighest), max<float>(broadcast(kLowest), x));
  const Vec<float> shifted = bounded * kLog2E + detail::kRound;
  const Vec<float> n = shifted - detail::kRound;
  const Vec<float> r = (bounded - n * kLn2High) - n * kLn2Low;

  Vec<float> p = broadcast(1.384355943e-3F);
  p = p * r + 8.374235593e-3F;
  p = p * r + 4.166800901e-2F;
  p = p * r + 1.666643023e-1F;
  p = p * r + 4.999999404e-1F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return detail::times_power_of_two(p, shifted);
}

/// 2^x of each lane, for x from -126, where it is 0, to 128.5, or NaN; other x give anything. From 128 on it is infinite. f32: relative
/// error below 2 ulp; as exp, but that the reduction x = n + r is exact.
inline Vec<float> exp2_within(Vec<float> x) {
  const Vec<float> shifted = x + detail::kRound;
  const Vec<float> r = x - (shifted - detail::kRound);
  Vec<float> p = broadcast(1.535334159e-4F);
  p = p * r + 1.339890063e-3F;
  p = p * r + 9.618437849e-3F;
  p = p * r + 5.550332367e-2F;
  p = p * r + 2.402264774e-1F;
  p = p * r + 6.931471825e-1F;
  p = p * r + 1.0F;
  return detail::times_power_of_two(p, shifted);
}

/// exp of each lane by the C library: f64 is for checks, not for speed.
inline Vec<double> exp(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::exp(x[lane]);
  }
  return y;
}

inline Vec<double> exp2_within(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::exp2(x[lane]);
  }
  return y;
}

/// tanh of each lane. f32: relative error below 2 ulp for all x, NaN for NaN. Below 0.625 Cephes' odd polynomial (tanhf.c), above it
/// 1 - 2 / (1 + e^2|x|).
inline Vec<float> tanh(Vec<float> x) {
  const Vec<float> size = x < 0.0F ? -x : x;
  const Vec<float> far = 1.0F - 2.0F / (1.0F + exp(size + size));
  const Vec<float> square = x * x;
  Vec<float> p = broadcast(-5.70498872745e-3F);
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const Vec<float> near = x + x * (p * square);
  return size < 0.625F ? near : x < 0.0F ? -far : far;
}

/// By the C library, as exp.
inline Vec<double> tanh(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::tanh(x[lane]);
  }
  return y;
}

}  // namespace dikkat::simd
