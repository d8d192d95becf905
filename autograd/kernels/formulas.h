#pragma once

#include "autograd/simd/formula.h"

// The library's own elementwise functions. Each is a struct with its constants; formulas.cpp has its computation.
namespace dikkat::kernels {

/// A function of n numbers. Unless ResultOfIds is void, it takes ids too.
template <std::size_t n, class ResultOfIds = void>
struct Function {
  static constexpr std::size_t operands = n;
  using OfIds = ResultOfIds;
};

// One operand x.
struct Same : Function<1, std::int32_t> {};
struct Negate : Function<1> {};
struct Abs : Function<1> {};
struct Square : Function<1> {};
struct Sqrt : Function<1> {};
struct Rsqrt : Function<1> {};
struct Exp : Function<1> {};
struct Log : Function<1> {};
struct Sin : Function<1> {};
struct Cos : Function<1> {};
struct Erf : Function<1> {};
struct Tanh : Function<1> {};
struct Sigmoid : Function<1> {};
struct Softplus : Function<1> {};
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel, arXiv 1606.08415).
struct Gelu : Function<1> {};
struct Relu : Function<1> {};
/// max(x, 0)^2 (So et al., arXiv 2109.08668).
struct Relu2 : Function<1> {};
/// x / (1 + e^-x).
struct Silu : Function<1> {};
struct Clamp : Function<1> {
  double low, high;
};
/// x^exponent.
struct PowerOf : Function<1> {
  double exponent;
};
/// x + number.
struct AddNumber : Function<1> {
  double number;
};
/// number - x.
struct SubtractFrom : Function<1> {
  double number;
};
/// number / x.
struct DivideNumber : Function<1> {
  double number;
};
struct MaximumWith : Function<1> {
  double number;
};
struct MinimumWith : Function<1> {
  double number;
};

// Two operands a and b.
struct Add : Function<2> {};
struct Subtract : Function<2> {};
struct Multiply : Function<2> {};
struct Divide : Function<2> {};
struct Maximum : Function<2> {};
struct Minimum : Function<2> {};
/// a^b.
struct Power : Function<2> {};

/// a where the condition is not 0, else b.
struct Where : Function<3, std::int32_t> {};
/// a x + b z of x, z, a, b.
struct WeightedSum : Function<4> {};

/// Returns the loops of a function. The result points to it, and so does not outlive it.
template <class F>
dikkat::detail::Formula formula(const F& function);

}  // namespace dikkat::kernels
