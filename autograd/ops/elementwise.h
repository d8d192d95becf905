#pragma once

#include <array>
#include <concepts>
#include <span>

#include "autograd/simd/formula.h"
#include "autograd/tape/tensor.h"

namespace dikkat {
namespace detail {

/// Runs the op `name`. The operands repeat to the common shape of all of them and `also`.
Tensor elementwise(const char* name, std::span<const Tensor> x, const Formula& formula, const Shape& also = {});

}  // namespace detail

/// Returns y = f(x, ...) for each element. f is a generic lambda, which is called with vectors of numbers, and with dual numbers for the
/// derivatives (autograd/simd/number.h lists operators and functions):
///
///   Tensor y = elementwise([](auto x, auto y) { return x * tanh(y) + 1; }, a, b);
///
/// Operands are broadcast as in NumPy, 1 to 8 of them, of one type: f32, f64 or bf16, which is computed in f32. Forward and backward are
/// one pass over memory each, and one more for each further set of axes along which operands repeat. Sums along repeated axes have a fixed
/// order. f may capture numbers, but no tensors. It is computed for
/// each element of the result, also where operands repeat. Throws Error if shapes or types do not fit.
template <class F, std::convertible_to<Tensor>... X>
Tensor elementwise(const F& f, X... x) {
  static_assert(detail::kIsFormula<F, sizeof...(X)>,
                "elementwise: the formula must be a generic lambda with a parameter for each operand, [](auto x, auto y) { ... }");
  const std::array<Tensor, sizeof...(X)> operands{x...};
  return detail::elementwise("elementwise", operands, detail::formula_of<sizeof...(X)>(f));
}

}  // namespace dikkat
