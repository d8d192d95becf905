#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

namespace detail {

/// Returns x^y = 2^(y log2 x) for positive, finite x, with a relative error below 2^-28. Results beyond 2^-200 and 2^200 are these numbers.
inline Vec<double> power_of_positive(Vec<double> x, Vec<double> y) {
  typedef std::uint64_t Bits __attribute__((vector_size(kBytes)));
  constexpr std::uint64_t kOne = 0x3FF0'0000'0000'0000, kSqrtHalf = 0x3FE6'A09E'667F'3BCD;
  // As in log2_of_positive(), x = 2^e m with m from sqrt(1/2) to sqrt(2), and log2 m is an odd polynomial of s = (m - 1) / (m + 1). That of
  // degree 9 has a relative error of 2^-37.8. A float to the power y is neither 0 nor infinite if |y log2 x| is below 150.
  const Bits bits = reinterpret_cast<Bits>(x) - kSqrtHalf + kOne;
  const auto biased = reinterpret_cast<Vec<double>>(bits >> 52 | 0x4330'0000'0000'0000);  // 2^52 + 1023 + e
  const auto m = reinterpret_cast<Vec<double>>((bits & 0x000F'FFFF'FFFF'FFFF) + kSqrtHalf);
  const Vec<double> s = (m - 1.0) / (m + 1.0);
  const Vec<double> z = s * s;
  Vec<double> log2 = broadcast(0.34073210457051994);
  log2 = log2 * z + 0.4116726097445978;
  log2 = log2 * z + 0.5770835868935802;
  log2 = log2 * z + 0.9617966733296568;
  log2 = log2 * z + 2.8853900817901073;
  log2 = log2 * s + (biased - (0x1p52 + 1023));

  // 2^t = 2^n 2^r with |r| <= 1/2. The polynomial of degree 6 has a relative error of 2^-29.
  constexpr double kRoundF64 = 0x1.8p52;  // what kRound is for f32
  const Vec<double> t = min<double>(max<double>(y * log2, broadcast(-200.0)), broadcast(200.0));
  const Vec<double> shifted = t + kRoundF64;
  const Vec<double> r = t - (shifted - kRoundF64);
  Vec<double> p = broadcast(0.00015345847741374548);
  p = p * r + 0.0013399930583583987;
  p = p * r + 0.009618488812427751;
  p = p * r + 0.05550328779169839;
  p = p * r + 0.24022646892213906;
  p = p * r + 0.6931472057347688;
  p = p * r + 1.0000000005536054;
  return reinterpret_cast<Vec<double>>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 52));
}

/// Returns whether numbers, 0 or more, have no fraction.
inline IntVec<float> is_whole(Vec<float> y) {
  constexpr float kNoFraction = 0x1p23F;  // floats of this size or more have none
  return ((y + kNoFraction) - kNoFraction == y) | (y >= kNoFraction);
}

/// Returns x^y, given the powers of ordinary lanes: those where x is positive and finite, and y is finite. The results of other lanes are
/// those of the C standard (F.10.4.4).
inline Vec<float> with_special_powers(Vec<float> ordinary, Vec<float> x, Vec<float> y) {
  // Find the size of the result. An infinite y does not multiply the logarithm of 1, which is 0. Those of 0 and infinity are infinite.
  const Vec<float> zero{}, one = broadcast(1.0F), infinity = broadcast(std::numeric_limits<float>::infinity());
  const Vec<float> nan = broadcast(std::numeric_limits<float>::quiet_NaN());
  const Vec<float> size = magnitude(x), y_size = magnitude(y);
  const IntVec<float> is_zero = size == zero, is_infinite = size == infinity, is_extreme = is_zero | is_infinite;
  const IntVec<float> vanishes = is_zero ^ (y < zero);
  const Vec<float> of_extreme = vanishes ? zero : infinity;
  const Vec<float> of_finite = size == one ? one : ordinary;
  const Vec<float> result = is_extreme ? of_extreme : of_finite;

  // Negative numbers have integer powers, whose sign is that of (-1)^y.
  const IntVec<float> is_integer = is_whole(y_size), is_odd = is_integer & ~is_whole(0.5F * y_size);
  const Vec<float> with_sign = flip_signs(result, is_odd & sign_bits(x));
  const IntVec<float> is_nan = (x != x) | (y != y) | ((x < zero) & ~is_infinite & ~is_integer);  // NOLINT(misc-redundant-expression)
  const IntVec<float> is_one = (x == one) | (y == zero);
  const Vec<float> others = is_nan ? nan : with_sign;
  return is_one ? one : others;
}

}  // namespace detail

/// Returns x^y of each lane. f32: error below 0.54 ulp, and the C standard's results for zeros, infinities, NaN and negative x. Denormal
/// numbers are right unless they are flushed to zero.
inline Vec<float> pow(Vec<float> x, Vec<float> y) {
  const Widened bases = widened(magnitude(x)), exponents = widened(y);
  const Vec<float> ordinary =
      narrowed(detail::power_of_positive(bases.lower, exponents.lower), detail::power_of_positive(bases.upper, exponents.upper));
  constexpr float kMost = std::numeric_limits<float>::max();
  const IntVec<float> is_ordinary = (x > 0.0F) & (x <= kMost) & (magnitude(y) <= kMost);
  return any(~is_ordinary) ? detail::with_special_powers(ordinary, x, y) : ordinary;
}

/// Computes it by the C library, as exp() does.
inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  for (index i = 0; i < kLanes<double>; ++i) {
    x[i] = std::pow(x[i], y[i]);
  }
  return x;
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
