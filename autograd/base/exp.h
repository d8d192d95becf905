#pragma once

#include <cmath>

#include "autograd/base/simd.h"

namespace dikkat::simd {

/// exp of each lane. f32: relative error below 2 ulp on [-86.9, 88.72]; 0 below, inf above, NaN for NaN.
/// Cody and Waite's reduction x = n ln 2 + r, |r| <= ln 2 / 2, then Cephes' polynomial (expf.c) for e^r.
inline Vec<float> exp(Vec<float> x) {
  constexpr float kLowest = -86.9F;  // below, 2^n is no normal number; denormals are flushed to zero anyway
  constexpr float kHighest = 88.7228394F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits

  Vec<float> clamped = x < kLowest ? broadcast(kLowest) : x;
  clamped = clamped > kHighest ? broadcast(kHighest) : clamped;
  const Vec<float> shifted = clamped * kLog2E + kRound;
  const Vec<float> n = shifted - kRound;
  const Vec<float> r = (clamped - n * kLn2High) - n * kLn2Low;

  Vec<float> p = broadcast(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;

  IntVec<float> exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);  // n in the low bits
  exponent = (exponent + 126) << 23;                  // 2^(n-1): n may be 128, where 2^n is no float
  Vec<float> scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  Vec<float> y = p * 2.0F * scale;  // in this order: p * scale may be denormal, and flushed to zero
  y = x < kLowest ? broadcast(0.0F) : y;
  y = x > kHighest ? broadcast(std::numeric_limits<float>::infinity()) : y;
  return x != x ? x : y;
}

/// exp of each lane by the C library: f64 is for checks, not for speed.
inline Vec<double> exp(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::exp(x[lane]);
  }
  return y;
}

}  // namespace dikkat::simd
