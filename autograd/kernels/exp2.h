#pragma once

#include <cmath>

#include "autograd/base/simd.h"

namespace dikkat::kernels {

/// 2^x of each lane, of x <= 0; x above 0 counts as 0. f32: relative error below 2 ulp; 0 below -126.5 (2^-126 is the least normal
/// number); NaN for NaN. x = n + r with |r| <= 1/2, and a polynomial for 2^r that was fitted to the least relative error.
inline simd::Vec<float> exp2_of_negative(simd::Vec<float> x) {
  constexpr float kRound = 12582912.0F + 127;  // 1.5 * 2^23 leaves the nearest integer in the low bits, and 127 makes it an exponent
  simd::Vec<float> clamped = 0.0F < x ? simd::Vec<float>{} : x;  // in this order: NaN stays
  clamped = -127.0F > clamped ? simd::broadcast(-127.0F) : clamped;
  const simd::Vec<float> shifted = clamped + kRound;
  const simd::Vec<float> r = clamped - (shifted - kRound);

  simd::Vec<float> p = simd::broadcast(1.55936112e-4F);
  p = p * r + 1.34077948e-3F;
  p = p * r + 9.61767044e-3F;
  p = p * r + 5.55032529e-2F;
  p = p * r + 2.40226522e-1F;
  p = p * r + 6.93147182e-1F;
  p = p * r + 1.0F;

  simd::IntVec<float> exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  exponent <<= 23;  // that of 2^n; for n = -127 it is zero, and so is the float
  simd::Vec<float> scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return p * scale;
}

/// log2 of each lane, of normal numbers above 0: error below 2 ulp of the larger of |log2 x| and 1; NaN for NaN. x = 2^e m with m
/// from sqrt(1/2) to sqrt(2), and ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1), |s| < 0.172.
inline simd::Vec<float> log2_of_positive(simd::Vec<float> x) {
  constexpr std::int32_t kSqrtHalf = 0x3F3504F3;
  simd::IntVec<float> bits;
  std::memcpy(&bits, &x, sizeof bits);
  const simd::IntVec<float> e = (bits - kSqrtHalf) >> 23;
  bits -= e << 23;
  simd::Vec<float> m;
  std::memcpy(&m, &bits, sizeof m);
  const simd::Vec<float> s = (m - 1.0F) / (m + 1.0F);
  const simd::Vec<float> z = s * s;

  simd::Vec<float> p = simd::broadcast(3.20598898e-1F);  // 2 / (9 ln 2), then 2 / (7 ln 2) ...
  p = p * z + 4.12198583e-1F;
  p = p * z + 5.77078016e-1F;
  p = p * z + 9.61796694e-1F;
  p = p * z + 2.88539008F;
  const simd::Vec<float> y = p * s + __builtin_convertvector(e, simd::Vec<float>);
  return x != x ? x : y;
}

/// By the C library: f64 is for checks, not for speed.
inline simd::Vec<double> exp2_of_negative(simd::Vec<double> x) {
  simd::Vec<double> y{};
  for (int lane = 0; lane < simd::kLanes<double>; ++lane) {
    y[lane] = std::exp2(0 < x[lane] ? 0.0 : x[lane]);
  }
  return y;
}
inline simd::Vec<double> log2_of_positive(simd::Vec<double> x) {
  simd::Vec<double> y{};
  for (int lane = 0; lane < simd::kLanes<double>; ++lane) {
    y[lane] = std::log2(x[lane]);
  }
  return y;
}

}  // namespace dikkat::kernels
