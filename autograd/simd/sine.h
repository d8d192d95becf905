#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

namespace detail {

constexpr float kLargestAngle = 0x1p22F;  // largest angle that quarter_turns() divides

/// An angle is n quarter turns and a rest.
struct QuarterTurns {
  Vec<double> n, rest;
};

/// Divides angles from 0 to kLargestAngle, so that the rest is at most pi / 4. This is the reduction of Cody and Waite (Software Manual for
/// the Elementary Functions, 1980): n times the upper 31 bits of pi / 2 is exact. The rest has the digits of an f32 wherever the angle is.
inline QuarterTurns quarter_turns(Vec<double> angle) {
  constexpr double kRoundF64 = 0x1.8p52;  // what kRound is for f32
  constexpr double kUpper = 0x1.921fb544p+0, kLower = 0x1.0b4611a626331p-34, kTwoOverPi = 0x1.45f306dc9c883p-1;
  const Vec<double> n = (angle * kTwoOverPi + kRoundF64) - kRoundF64;
  return {n, (angle - n * kUpper) - n * kLower};
}

/// Computes the lanes whose angle is above kLargestAngle, infinite or NaN by the C library.
template <bool kCosine>
[[gnu::noinline]] void replace_large_angles(const float* x, float* y) {
  for (index i = 0; i < kLanes<float>; ++i) {
    if (!(std::abs(x[i]) <= kLargestAngle)) {
      y[i] = kCosine ? std::cos(x[i]) : std::sin(x[i]);
    }
  }
}

/// Returns sin r, or cos r, of an angle of at most pi / 4, whose square is z. The polynomials have the least relative error of those of
/// degrees 7 and 8: 2^-27.9 and 2^-33.
inline Vec<float> sine_near_zero(Vec<float> r, Vec<float> z) {
  return fused_multiply_add(polynomial(z, -1.95182904e-4F, 8.33218917e-3F, -1.66666552e-1F), z * r, r);
}
inline Vec<float> cosine_near_zero(Vec<float> z) { return polynomial(z, 2.44323255e-5F, -1.38873095e-3F, 4.16666456e-2F, -0.5F, 1.0F); }

/// Returns sin x, or cos x = sin(x + pi / 2).
template <bool kCosine>
Vec<float> sine(Vec<float> x) {
  // Reduce the angle to r. The lowest two bits of `quarter` are the quadrant's.
  const Vec<float> size = magnitude(x);
  const Widened angles = widened(size);
  const QuarterTurns lower = quarter_turns(angles.lower), upper = quarter_turns(angles.upper);
  const Vec<float> r = narrowed(lower.rest, upper.rest);
  const Vec<float> shifted = narrowed(lower.n, upper.n) + kRound;
  const auto quarter = reinterpret_cast<IntVec<float>>(shifted) + (kCosine ? 1 : 0);

  // Compute sin r and cos r.
  const Vec<float> z = r * r;
  const Vec<float> s = detail::sine_near_zero(r, z), c = detail::cosine_near_zero(z);

  // Choose by the quadrant.
  const Vec<float> value = (quarter & 1) != 0 ? c : s;
  const IntVec<float> below = (quarter & 2) << 30;
  const Vec<float> y = flip_signs(value, kCosine ? below : below ^ sign_bits(x));
  // Replace the lanes of large angles.
  const IntVec<float> is_reduced = size <= kLargestAngle;
  if (!any(~is_reduced)) {
    return y;
  }
  float all_x[kLanes<float>], all_y[kLanes<float>];
  store(all_x, x);
  store(all_y, y);
  replace_large_angles<kCosine>(all_x, all_y);
  return load(all_y);
}

}  // namespace detail

/// Returns sin, or cos, of each lane. f32: error below 1.6 ulp up to 2^22, and above it that of the C library, which computes those lanes;
/// NaN for infinity and NaN.
inline Vec<float> sin(Vec<float> x) { return detail::sine<false>(x); }
inline Vec<float> cos(Vec<float> x) { return detail::sine<true>(x); }

/// The sine and the cosine of each lane's angle.
struct SineAndCosine {
  Vec<float> sine, cosine;
};
/// Returns them for the angles 2 pi turns / 2^32. Errors are below 2^-23.
inline SineAndCosine sine_and_cosine_of_turns(Vec<std::uint32_t> turns) {
  // An angle is a quarter turn's multiple plus a rest of at most an eighth of a turn.
  const Vec<std::uint32_t> quarter = (turns + 0x2000'0000U) >> 30;
  const auto rest = reinterpret_cast<IntVec<float>>(turns - (quarter << 30));
  const Vec<float> r = to_floats(rest) * (2 * std::numbers::pi_v<float> * 0x1p-32F);
  const Vec<float> z = r * r;
  const Vec<float> s = detail::sine_near_zero(r, z), c = detail::cosine_near_zero(z);

  const auto is_odd = (quarter & 1U) != 0U;
  const auto below = reinterpret_cast<IntVec<float>>((quarter & 2U) << 30),
             left = reinterpret_cast<IntVec<float>>(((quarter + 1U) & 2U) << 30);
  return {flip_signs(is_odd ? c : s, below), flip_signs(is_odd ? s : c, left)};
}

/// Computes them by the C library, as exp() does.
inline Vec<double> sin(Vec<double> x) {
  for (index i = 0; i < kLanes<double>; ++i) {
    x[i] = std::sin(x[i]);
  }
  return x;
}
inline Vec<double> cos(Vec<double> x) {
  for (index i = 0; i < kLanes<double>; ++i) {
    x[i] = std::cos(x[i]);
  }
  return x;
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
