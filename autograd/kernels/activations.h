#pragma once

#include <limits>

#include "autograd/simd/exp.h"

// The activations of feed-forward layers on vectors: values and derivatives. This header is private to the folder.
namespace dikkat::kernels {

using simd::Vec;

// GELU by the logistic function: 0.5 (1 + tanh u) = 1 / (1 + e^-2u), which loses no digits for very negative x. e^-2u is 2^(x (a + b x^2)).
template <class T>
struct GeluOf {
  static constexpr T kA = T(2 * 0.7978845608028653558798921);  // 2 sqrt(2 / pi)
  static constexpr T kB = T(2 * 0.7978845608028653558798921 * 0.044715);
  static constexpr T kLog2E = T(1.4426950408889634073599247);
  // x is clamped to these bounds, so that an infinite x does not lead to 0 times infinity. Below kLowest, e^-2u is infinite; above
  // kHighest, it vanishes next to 1. In f32 they also keep the argument of exp2_within() in its range: 2^128.3 and 2^-119.4.
  static constexpr T kLowest = T(sizeof(T) == sizeof(float) ? -10.07 : -22);
  static constexpr T kHighest = T(sizeof(T) == sizeof(float) ? 9.8 : 22);

  static Vec<T> not_below(Vec<T> x) { return simd::max<T>(simd::broadcast(kLowest), x); }  // NaN stays NaN
  static Vec<T> not_above(Vec<T> x) { return simd::min<T>(simd::broadcast(kHighest), x); }
  static Vec<T> falling(Vec<T> x) { return simd::exp2_within(x * (-kA * kLog2E - kB * kLog2E * (x * x))); }  // e^-2u
  static Vec<T> value(Vec<T> x) {
    const Vec<T> above = not_below(x);
    return above / (T(1) + falling(not_above(above)));
  }
  static Vec<T> slope(Vec<T> x) {
    const Vec<T> near = not_above(not_below(x));
    const Vec<T> s = T(1) / (T(1) + falling(near));
    return s + s * ((T(1) - s) * (near * (kA + 3 * kB * (near * near))));
  }
};

template <class T>
struct ReluOf {
  static Vec<T> value(Vec<T> x) { return x < T(0) ? simd::broadcast(T(0)) : x; }  // NaN stays NaN
  static Vec<T> slope(Vec<T> x) { return x > T(0) ? simd::broadcast(T(1)) : simd::broadcast(T(0)); }
};

template <class T>
struct Relu2Of {
  static Vec<T> value(Vec<T> x) {
    const Vec<T> r = ReluOf<T>::value(x);
    return r * r;  // r * x would be NaN for -infinity
  }
  static Vec<T> slope(Vec<T> x) { return T(2) * ReluOf<T>::value(x); }
};

template <class T>
struct SiluOf {
  // x is clamped, so that infinities do not meet: for the value at the lowest finite number, for the slope where e^-x is still finite.
  // Below that the slope is its limit, 0.
  static Vec<T> not_below(Vec<T> x, T low) { return simd::max<T>(simd::broadcast(low), x); }  // NaN stays NaN
  static Vec<T> value(Vec<T> x) {
    const Vec<T> above = not_below(x, std::numeric_limits<T>::lowest());
    return above / (T(1) + simd::exp(-above));
  }
  /// Returns s (1 + x (1 - s)), where e = e^-x and s = 1 / (1 + e). 1 - s = e s keeps its digits.
  static Vec<T> slope(Vec<T> x) {
    constexpr T kHigh = std::numeric_limits<T>::max();
    constexpr T kLow = sizeof(T) == sizeof(float) ? T(-87) : T(-700);
    const Vec<T> near = simd::min<T>(simd::broadcast(kHigh), not_below(x, kLow));
    const Vec<T> e = simd::exp(-near);
    const Vec<T> s = T(1) / (T(1) + e);
    return x < kLow ? simd::broadcast(T(0)) : s * (T(1) + near * (e * s));
  }
};

}  // namespace dikkat::kernels
