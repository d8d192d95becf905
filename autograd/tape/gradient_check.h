#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"

// Gradient checks for tests of ops: does backward compute the derivatives of forward? examples/custom_op.cpp uses it.
namespace dikkat {

/// An op, or any computation, on f64 operands. It is called many times, and its result must depend on the operands' values only.
using CheckedFunction = std::function<Tensor(Tape&, std::span<const Tensor>)>;

/// An operand that the function is differentiated with respect to.
struct CheckedOperand {
  Shape shape;
  std::vector<double> values;  // shape.size() of them
};

/// Returns the derivatives of <dy, f(operands)> with respect to every element of every operand, by central differences; dy is
/// gradient_check_dy(). With the default step, the truncation error and the rounding error are both near 1e-10.
std::vector<std::vector<double>> numeric_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands, double step = 1e-5);

/// Returns those derivatives, computed by backward. An operand that no gradient reaches has zeros.
std::vector<std::vector<double>> backward_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands);

/// Returns the largest difference between the two. That of an operand is divided by its largest numeric derivative, or by 0.01 if that is
/// more. For a correct op it is 1e-7 or less, unless f has a kink near the operands' values. It is infinite if a derivative is not finite.
/// Throws what f throws.
double gradient_error(const CheckedFunction& f, std::span<const CheckedOperand> operands);

/// Does the same for the trained parameters of layers: f computes with parameters of this store, which holds f64 and has memory. Their
/// values do not change, their gradients do.
///
///   ParameterStore store(DType::f64);
///   const Linear layer(Scope(store) / "layer", 3, 4);
///   store.allocate(1);
///   const double error = gradient_error(store, [&](Tape& tape) { Pass pass{.tape = tape}; return layer(pass, tape.input<double>({1, 3},
///   x)); });
double gradient_error(ParameterStore& parameters, const std::function<Tensor(Tape&)>& f);

/// Returns the gradient that checks begin backward with, of `size` elements: pseudo-random numbers in [-1, 1) that f32 holds exactly.
std::vector<double> gradient_check_dy(index size);

}  // namespace dikkat
