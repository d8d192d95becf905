#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/tape/tape.h"

// For tests of ops: whether backward gives the derivatives of forward. examples/custom_op.cpp checks an op of its own.
namespace dikkat {

/// An op, or any computation, on f64 operands of the tape. It is called often, and must be a function of the operands' values.
using CheckedFunction = std::function<Tensor(Tape&, std::span<const Tensor>)>;

/// What a function is differentiated with respect to.
struct CheckedOperand {
  Shape shape;
  std::vector<double> values;  // shape.size() of them
};

/// Derivatives of <dy, f(operands)> with respect to every element of every operand by central differences, dy being gradient_check_dy().
/// With the default step their errors, of the differences and of rounding, are both near 1e-10.
std::vector<std::vector<double>> numeric_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands, double step = 1e-5);

/// The same by backward. Operands that nothing flows into have zeros.
std::vector<std::vector<double>> backward_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands);

/// The largest difference of the two, each operand's over its largest numeric derivative, or over 0.01 where that is less. Of a right op it
/// is 1e-7 or less, unless f has a kink near the operands' values; of one that gives what is no number it is infinite. Throws what f
/// throws.
double gradient_error(const CheckedFunction& f, std::span<const CheckedOperand> operands);

/// The derivatives of a loss with respect to a result of `size` elements, for checks: numbers in [-1, 1) that floats hold too.
std::vector<double> gradient_check_dy(index size);

}  // namespace dikkat
