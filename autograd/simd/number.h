#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "autograd/simd/error_function.h"
#include "autograd/simd/exp.h"
#include "autograd/simd/power.h"
#include "autograd/simd/simd.h"
#include "autograd/simd/sine.h"

// The numbers with which elementwise() (autograd/ops/elementwise.h) calls a formula: vectors of f32 or f64, and dual numbers of them. A
// formula is written once, as a generic lambda, with the operators and functions of this page.
namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

template <class T>
struct Mask;

/// A vector of numbers that behaves like one number.
template <class T>
struct Number {
  Vec<T> lanes;

  Number() = default;
  explicit Number(Vec<T> v) : lanes(v) {}
  /// Converts a constant.
  template <class Constant>
    requires std::is_arithmetic_v<Constant>
  Number(Constant constant) : lanes(broadcast(static_cast<T>(constant))) {}  // NOLINT(google-explicit-constructor): as numbers convert
  /// Makes 1 where the mask holds, and 0 elsewhere.
  explicit Number(Mask<T> mask) : lanes(mask.lanes ? broadcast(T(1)) : broadcast(T(0))) {}

  Number& operator+=(Number b) { return *this = *this + b; }
  Number& operator-=(Number b) { return *this = *this - b; }
  Number& operator*=(Number b) { return *this = *this * b; }
  Number& operator/=(Number b) { return *this = *this / b; }
  friend Number operator+(Number a, Number b) { return Number(a.lanes + b.lanes); }
  friend Number operator-(Number a, Number b) { return Number(a.lanes - b.lanes); }
  friend Number operator*(Number a, Number b) { return Number(a.lanes * b.lanes); }
  friend Number operator/(Number a, Number b) { return Number(a.lanes / b.lanes); }
  friend Number operator-(Number a) { return Number(-a.lanes); }
};

/// The result of a comparison, lane by lane, for where().
template <class T>
struct Mask {
  IntVec<T> lanes;

  friend Mask operator&&(Mask a, Mask b) { return {a.lanes & b.lanes}; }
  friend Mask operator||(Mask a, Mask b) { return {a.lanes | b.lanes}; }
  friend Mask operator!(Mask a) { return {~a.lanes}; }
};

/// Does what chained() does for vectors (simd.h).
template <class T>
Number<T> chained(Number<T> a, Number<T> b) {
  return Number<T>(chained<T>(a.lanes, b.lanes));
}

/// A number and its derivatives by n variables (forward-mode differentiation: https://en.wikipedia.org/wiki/Dual_number).
template <class T, std::size_t n>
struct Dual {
  Number<T> value;
  std::array<Number<T>, n> slopes;

  Dual() = default;
  template <class Constant>
    requires std::is_arithmetic_v<Constant>
  Dual(Constant constant) : value(constant) {  // NOLINT(google-explicit-constructor): as numbers convert
    slopes.fill(Number<T>(0));
  }
  /// Converts a number that does not depend on the variables.
  Dual(Number<T> constant) : value(constant) { slopes.fill(Number<T>(0)); }  // NOLINT(google-explicit-constructor)
  explicit Dual(Mask<T> mask) : Dual(Number<T>(mask)) {}
  /// Makes f(x), whose value and derivative at x are known.
  Dual(const Dual& x, Number<T> its_value, Number<T> derivative) : value(its_value) {
    for (std::size_t i = 0; i < n; ++i) {
      slopes[i] = chained(derivative, x.slopes[i]);
    }
  }
  /// Makes f(a, b), whose value and partial derivatives are known.
  Dual(const Dual& a, const Dual& b, Number<T> its_value, Number<T> by_a, Number<T> by_b) : value(its_value) {
    for (std::size_t i = 0; i < n; ++i) {
      slopes[i] = chained(by_a, a.slopes[i]) + chained(by_b, b.slopes[i]);
    }
  }
  /// Returns variable `which`.
  static Dual variable(Number<T> value, std::size_t which) {
    Dual x(0);
    x.value = value;
    x.slopes[which] = 1;
    return x;
  }

  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }

  friend Dual operator+(const Dual& a, const Dual& b) {
    Dual y;
    y.value = a.value + b.value;
    for (std::size_t i = 0; i < n; ++i) {
      y.slopes[i] = a.slopes[i] + b.slopes[i];
    }
    return y;
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    Dual y;
    y.value = a.value - b.value;
    for (std::size_t i = 0; i < n; ++i) {
      y.slopes[i] = a.slopes[i] - b.slopes[i];
    }
    return y;
  }
  friend Dual operator*(const Dual& a, const Dual& b) { return Dual(a, b, a.value * b.value, b.value, a.value); }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const Number<T> inverse = Number<T>(1) / b.value;
    const Number<T> quotient = a.value / b.value;
    return Dual(a, b, quotient, inverse, -quotient * inverse);
  }
  friend Dual operator-(const Dual& a) { return Dual(a, -a.value, -1); }
};

namespace detail {

template <class X>
struct IsNumber : std::false_type {};
template <class T>
struct IsNumber<Number<T>> : std::true_type {};
template <class T, std::size_t n>
struct IsNumber<Dual<T, n>> : std::true_type {};

/// Calls a function of the C library for each lane.
template <class T, class F>
Number<T> lane_by_lane(Number<T> x, F&& f) {
  for (index i = 0; i < kLanes<T>; ++i) {
    x.lanes[i] = f(x.lanes[i]);
  }
  return x;
}

template <class T>
Number<T> value_of(Number<T> x) {
  return x;
}
template <class T, std::size_t n>
Number<T> value_of(const Dual<T, n>& x) {
  return x.value;
}

}  // namespace detail

/// A number of a formula: Number, or Dual when derivatives are computed.
template <class X>
concept AnyNumber = detail::IsNumber<X>::value;
/// A value that converts to a number of type X, and so may be the other operand.
template <class Y, class X>
concept Beside = AnyNumber<X> && std::convertible_to<Y, X>;

// Comparisons compare values. Their results are for where().
#define DIKKAT_COMPARISON(sign)                                                   \
  template <AnyNumber X, Beside<X> Y>                                             \
  auto operator sign(const X& a, const Y& b) {                                    \
    const auto x = detail::value_of(a), y = detail::value_of(X(b));               \
    return Mask<std::remove_cvref_t<decltype(x.lanes[0])>>{x.lanes sign y.lanes}; \
  }                                                                               \
  template <AnyNumber X, class Y>                                                 \
    requires std::is_arithmetic_v<Y>                                              \
  auto operator sign(Y a, const X& b) {                                           \
    return X(a) sign b;                                                           \
  }
DIKKAT_COMPARISON(<)
DIKKAT_COMPARISON(>)
DIKKAT_COMPARISON(<=)
DIKKAT_COMPARISON(>=)
DIKKAT_COMPARISON(==)
DIKKAT_COMPARISON(!=)
#undef DIKKAT_COMPARISON

/// Returns a where the mask holds, and b elsewhere. Both are computed everywhere, and the derivative is that of the chosen one.
template <class T>
Number<T> where(Mask<T> mask, Number<T> a, Number<T> b) {
  return Number<T>(mask.lanes ? a.lanes : b.lanes);
}
template <class T, std::size_t n>
Dual<T, n> where(Mask<T> mask, const Dual<T, n>& a, const Dual<T, n>& b) {
  Dual<T, n> y;
  y.value = where(mask, a.value, b.value);
  for (std::size_t i = 0; i < n; ++i) {
    y.slopes[i] = where(mask, a.slopes[i], b.slopes[i]);
  }
  return y;
}
template <class T, AnyNumber X, class Constant>
  requires std::is_arithmetic_v<Constant>
X where(Mask<T> mask, const X& a, Constant b) {
  return where(mask, a, X(b));
}
template <class T, AnyNumber X, class Constant>
  requires std::is_arithmetic_v<Constant>
X where(Mask<T> mask, Constant a, const X& b) {
  return where(mask, X(a), b);
}

/// Does the same for two constants.
template <class T, class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
Number<T> where(Mask<T> mask, A a, B b) {
  return where(mask, Number<T>(a), Number<T>(b));
}

// Functions of one number. Each has its value, and the derivative of a dual number.

template <class T>
Number<T> sqrt(Number<T> x) {
  for (index i = 0; i < kLanes<T>; ++i) {  // compilers make one instruction of this loop
    x.lanes[i] = std::sqrt(x.lanes[i]);
  }
  return x;
}
template <class T>
Number<T> exp(Number<T> x) {
  return Number<T>(exp(x.lanes));
}
/// Returns the natural logarithm: -infinity for 0, NaN below.
inline Number<float> log(Number<float> x) {
  const Vec<float> normal = log2_of_positive(x.lanes) * 0.693147180559945309417F;
  const Vec<float> zero = broadcast(-std::numeric_limits<float>::infinity()), infinity = -zero;
  const Vec<float> nan = broadcast(std::numeric_limits<float>::quiet_NaN());
  const Vec<float> low = x.lanes < 0.0F ? nan : zero;
  const Vec<float> high = x.lanes == infinity ? infinity : normal;
  return Number<float>(x.lanes < std::numeric_limits<float>::min() ? low : high);  // denormals are zero
}
inline Number<double> log(Number<double> x) {
  return detail::lane_by_lane(x, [](double v) { return std::log(v); });
}
template <class T>
Number<T> tanh(Number<T> x) {
  return Number<T>(tanh(x.lanes));
}
template <class T>
Number<T> sin(Number<T> x) {
  return Number<T>(sin(x.lanes));
}
template <class T>
Number<T> cos(Number<T> x) {
  return Number<T>(cos(x.lanes));
}
template <class T>
Number<T> erf(Number<T> x) {
  return Number<T>(erf(x.lanes));
}
template <class T>
Number<T> abs(Number<T> x) {
  return where(x < 0, -x, x + 0);  // -0 becomes 0
}
/// Returns x^y.
template <class T>
Number<T> pow(Number<T> x, Number<T> y) {
  return Number<T>(pow(x.lanes, y.lanes));
}
/// Returns x to a power that all lanes share. Powers 1 to 3 are products.
template <class T, class Exponent>
  requires std::is_arithmetic_v<Exponent>
Number<T> pow(Number<T> x, Exponent exponent) {
  return exponent == 1 ? x : exponent == 2 ? x * x : exponent == 3 ? x * x * x : pow(x, Number<T>(exponent));
}

template <class T, std::size_t n>
Dual<T, n> sqrt(const Dual<T, n>& x) {
  const Number<T> y = sqrt(x.value);
  return {x, y, Number<T>(0.5) / y};
}
template <class T, std::size_t n>
Dual<T, n> exp(const Dual<T, n>& x) {
  const Number<T> y = exp(x.value);
  return {x, y, y};
}
template <class T, std::size_t n>
Dual<T, n> log(const Dual<T, n>& x) {
  return {x, log(x.value), Number<T>(1) / x.value};
}
template <class T, std::size_t n>
Dual<T, n> tanh(const Dual<T, n>& x) {
  const auto [value, slope] = tanh_and_slope(x.value.lanes);
  return {x, Number<T>(value), Number<T>(slope)};
}
template <class T, std::size_t n>
Dual<T, n> sin(const Dual<T, n>& x) {
  return {x, sin(x.value), cos(x.value)};
}
template <class T, std::size_t n>
Dual<T, n> cos(const Dual<T, n>& x) {
  return {x, cos(x.value), -sin(x.value)};
}
/// erf'(x) = 2 / sqrt(pi) e^(-x^2).
template <class T, std::size_t n>
Dual<T, n> erf(const Dual<T, n>& x) {
  return {x, erf(x.value), 1.12837916709551257390 * exp(-(x.value * x.value))};
}
/// The derivative at 0 is 0.
template <class T, std::size_t n>
Dual<T, n> abs(const Dual<T, n>& x) {
  return {x, abs(x.value), where(x.value > 0, Number<T>(1), where(x.value < 0, Number<T>(-1), Number<T>(0)))};
}
template <class T, std::size_t n, class Exponent>
  requires std::is_arithmetic_v<Exponent>
Dual<T, n> pow(const Dual<T, n>& x, Exponent exponent) {
  return {x, pow(x.value, exponent), exponent == 0 ? Number<T>(0) : exponent * pow(x.value, exponent - 1)};
}

/// The derivatives are PyTorch's. The one by x, y x^(y - 1), is 0 where y is 0, and that by y, x^y log x, where x is 0 and y is not
/// negative.
template <class T, std::size_t n>
Dual<T, n> pow(const Dual<T, n>& x, const Dual<T, n>& y) {
  const Number<T> value = pow(x.value, y.value), none = 0;
  const Number<T> by_x = where(y.value == 0, none, y.value * pow(x.value, y.value - 1));
  const Number<T> by_y = where(x.value == 0 && y.value >= 0, none, chained(value, log(x.value)));
  return {x, y, value, by_x, by_y};
}

// Functions that are made of others.

/// Returns x times a weight; 0 where the weight is 0, even if x is infinite. The derivative by the weight is x.
template <class T>
Number<T> weighted(Number<T> x, Number<T> weight) {
  return chained(x, weight);
}
template <class T, std::size_t n>
Dual<T, n> weighted(const Dual<T, n>& x, const Dual<T, n>& weight) {
  return {x, weight, weighted(x.value, weight.value), weight.value, x.value};
}
template <AnyNumber X>
X square(const X& x) {
  return x * x;
}
/// Returns 1 / sqrt(x).
template <AnyNumber X>
X rsqrt(const X& x) {
  return 1 / sqrt(x);
}
/// Returns log(1 + x), which keeps the digits of a small x (Kahan's correction: the rounding of 1 + x is divided out).
template <class T>
Number<T> log1p(Number<T> x) {
  const Number<T> sum = 1 + x, lost = sum - 1;
  return where(lost == 0, x, where(x == std::numeric_limits<T>::infinity(), x, log(sum) * (x / lost)));
}
template <class T, std::size_t n>
Dual<T, n> log1p(const Dual<T, n>& x) {
  return {x, log1p(x.value), 1 / (1 + x.value)};
}
/// Returns the larger, or the smaller; NaN if one of them is NaN. Where they are equal, the derivative is that of a.
template <AnyNumber X>
X max(const X& a, const X& b) {
  return where(a >= b || a != a, a, b);
}
template <AnyNumber X>
X min(const X& a, const X& b) {
  return where(a <= b || a != a, a, b);
}
template <AnyNumber X, class Constant>
  requires std::is_arithmetic_v<Constant>
X max(const X& a, Constant b) {
  return max(a, X(b));
}
template <AnyNumber X, class Constant>
  requires std::is_arithmetic_v<Constant>
X min(const X& a, Constant b) {
  return min(a, X(b));
}
/// Returns x, but at least `low` and at most `high`. The derivative beyond the bounds is 0.
template <AnyNumber X>
X clamp(const X& x, double low, double high) {
  return where(x < low, X(low), where(x > high, X(high), x));
}
/// Returns 1 / (1 + e^-x).
template <class T>
Number<T> sigmoid(Number<T> x) {
  return 1 / (1 + exp(-x));  // e^-x may be infinite: 0
}
/// The derivative is s (1 - s). For large x, where 1 - s would lose its digits, 1 - s is computed as e^-x s.
template <class T, std::size_t n>
Dual<T, n> sigmoid(const Dual<T, n>& x) {
  const Number<T> e = exp(-x.value), s = 1 / (1 + e);
  return {x, s, s * where(e < 1, e * s, 1 - s)};
}
/// Returns log(1 + e^x), without overflow.
template <class T>
Number<T> softplus(Number<T> x) {
  return max(x, 0) + log1p(exp(-abs(x)));
}
/// Its derivative is 1 / (1 + e^-x).
template <class T, std::size_t n>
Dual<T, n> softplus(const Dual<T, n>& x) {
  return {x, softplus(x.value), 1 / (1 + exp(-x.value))};
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
