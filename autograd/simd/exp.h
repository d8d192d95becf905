#pragma once

#include <cmath>

#include "autograd/simd/simd.h"

namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

/// Returns the polynomial of x with these coefficients, the highest power's first. Horner's rule with named fused operations has the same
/// bits on every instruction set that has them.
template <class... Coefficients>
inline Vec<float> polynomial(Vec<float> x, float highest, Coefficients... others) {
  Vec<float> p = broadcast(highest);
  ((p = fused_multiply_add(p, x, broadcast<float>(others))), ...);
  return p;
}

namespace detail {

constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits

/// Returns p 2^n for p in [0.7, 1.5] and shifted = kRound + n, with n from -126, where the result is 0, to 128. Although 2^128 is not a
/// float, the result is right up to the largest float, and infinite above it.
inline Vec<float> times_power_of_two(Vec<float> p, Vec<float> shifted) {
  IntVec<float> exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);  // n in the low bits
  exponent = (exponent + 126) << 23;                  // 2^(n-1)
  Vec<float> scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return p * 2.0F * scale;  // in this order, as p * scale may be denormal and be flushed to zero
}

/// Returns 2^r for |r| <= 1/2, by the polynomial of degree 6 that is 1 at 0 and has the least relative error.
inline Vec<float> exp2_of_fraction(Vec<float> r) {
  Vec<float> p = broadcast(1.535334159e-4F);
  p = p * r + 1.339890063e-3F;
  p = p * r + 9.618437849e-3F;
  p = p * r + 5.550332367e-2F;
  p = p * r + 2.402264774e-1F;
  p = p * r + 6.931471825e-1F;
  return p * r + 1.0F;
}

}  // namespace detail

/// Returns exp of each lane. f32: relative error below 2 ulp on [-86.98, 88.72]; 0 below -86.99, inf above, NaN for NaN. The reduction is
/// Cody and Waite's, x = n ln 2 + r, |r| <= ln 2 / 2. The polynomial's relative error from e^r is at most 2e-8 (the least among those of
/// degree 6 that are 1 at 0). There are no branches: x is clamped to a range whose ends lead to 0 and infinity.
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

/// Returns 2^x of each lane, for x from -126 to 128.5, or NaN; undefined for other x. At -126 the result is 0; at 128 or more it is
/// infinite. f32: relative error below 2 ulp. The algorithm is that of exp, but the reduction x = n + r is exact.
inline Vec<float> exp2_within(Vec<float> x) {
  const Vec<float> shifted = x + detail::kRound;
  const Vec<float> r = x - (shifted - detail::kRound);
  return detail::times_power_of_two(detail::exp2_of_fraction(r), shifted);
}

/// Returns 2^x of each lane, for x <= 0; an x above 0 is taken as 0. f32: relative error below 2 ulp; 0 below -126.5 (2^-126 is the least
/// normal number); NaN for NaN. Attention uses it: its exponents are at most 0, so the power of two is always a finite float.
inline Vec<float> exp2_of_negative(Vec<float> x) {
  constexpr float kRound = detail::kRound + 127;                                           // n + 127 is the exponent's field
  const Vec<float> bounded = max<float>(broadcast(-127.0F), min<float>(Vec<float>{}, x));  // in this order: NaN stays
  const Vec<float> shifted = bounded + kRound;
  const Vec<float> r = bounded - (shifted - kRound);
  IntVec<float> exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  exponent <<= 23;  // the exponent of 2^n; for n = -127 it is zero, and so is the float
  Vec<float> scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return detail::exp2_of_fraction(r) * scale;
}

/// Returns log2 of each lane, for normal numbers above 0: error below 2 ulp of the larger of |log2 x| and 1; NaN for NaN. x = 2^e m with m
/// from sqrt(1/2) to sqrt(2), and ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1), |s| < 0.172.
inline Vec<float> log2_of_positive(Vec<float> x) {
  constexpr std::int32_t kSqrtHalf = 0x3F3504F3;
  IntVec<float> bits;
  std::memcpy(&bits, &x, sizeof bits);
  const IntVec<float> e = (bits - kSqrtHalf) >> 23;
  bits -= e << 23;
  Vec<float> m;
  std::memcpy(&m, &bits, sizeof m);
  const Vec<float> s = (m - 1.0F) / (m + 1.0F);
  const Vec<float> z = s * s;

  // 2 / (9 ln 2), then 2 / (7 ln 2) ...
  const Vec<float> p = polynomial(z, 3.20598898e-1F, 4.12198583e-1F, 5.77078016e-1F, 9.61796694e-1F, 2.88539008F);
  const Vec<float> y = fused_multiply_add(p, s, __builtin_convertvector(e, Vec<float>));
  return x != x ? x : y;  // NOLINT(misc-redundant-expression): true where x is NaN
}

/// Returns exp of each lane by the C library: f64 is used for checks, where speed does not matter.
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

inline Vec<double> exp2_of_negative(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::exp2(0 < x[lane] ? 0.0 : x[lane]);
  }
  return y;
}

inline Vec<double> log2_of_positive(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::log2(x[lane]);
  }
  return y;
}

/// A function of each lane, and its derivative there.
template <class T>
struct WithSlope {
  Vec<T> value, slope;
};

/// Returns tanh of each lane, and its slope. f32: relative error below 2 ulp for all x, NaN for NaN. Below 0.625 Cephes' odd polynomial
/// (tanhf.c), above it 1 - r with r = 2 / (1 + e^2|x|). The slope is r (2 - r), which keeps its digits where 1 - tanh^2 would lose them.
inline WithSlope<float> tanh_and_slope(Vec<float> x) {
  const Vec<float> size = x < 0.0F ? -x : x;
  const Vec<float> r = 2.0F / (1.0F + exp(size + size));
  const Vec<float> far = 1.0F - r;
  const Vec<float> square = x * x;
  Vec<float> p = broadcast(-5.70498872745e-3F);
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const Vec<float> near = x + x * (p * square);
  return {size < 0.625F ? near : x < 0.0F ? -far : far, r * (2.0F - r)};
}

/// Computes both by the C library, as exp() does.
inline WithSlope<double> tanh_and_slope(Vec<double> x) {
  Vec<double> y{};
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    y[lane] = std::tanh(x[lane]);
  }
  const Vec<double> size = x < 0.0 ? -x : x;
  const Vec<double> r = 2.0 / (1.0 + exp(size + size));
  return {y, r * (2.0 - r)};
}

inline Vec<float> tanh(Vec<float> x) { return tanh_and_slope(x).value; }
inline Vec<double> tanh(Vec<double> x) { return tanh_and_slope(x).value; }

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
