#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/ops/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

namespace dikkat::gradcheck {

using testing::converted;
using testing::kRaggedSizes;
using testing::numbers;

/// A tensor that an op is differentiated with respect to. Its values are floats, so that f32 and f64 begin alike.
struct Operand {
  Shape shape;
  std::vector<float> values;
};

/// An op on operands of one element type. It makes constants, such as tokens, on the tape itself.
using Function = std::function<Tensor(Tape&, std::span<const Tensor>)>;
/// An op's value by plain loops in f64: from the operands' values to the result's.
using Oracle = std::function<std::vector<double>(std::span<const std::vector<double>>)>;

/// One call of an op, and its expected value: by a definition made of primitive ops or, for those, by plain loops.
struct Sample {
  std::string name;
  std::vector<Operand> operands;
  Function op;
  Function definition;
  Oracle oracle;
};

/// A call that must throw.
struct Misfit {
  std::string name;
  std::function<void(Tape&)> call;
};

/// Every op has a specialization, or the gradient checks do not compile:
///   static std::vector<Sample> samples();   // small ones, with definition or oracle
///   static std::vector<Sample> ragged();    // of ragged sizes, with neither
///   static std::vector<Misfit> misfits();   // besides wrong element types and tapes, which the driver tries for every op
template <Op op>
struct GradCase;

/// An operand of random values.
inline Operand operand(Shape shape, std::uint64_t seed, float low = -2, float high = 2) {
  return {shape, numbers(shape.size(), seed, low, high)};
}

/// A constant in the element type of the operands.
inline Tensor constant(Tape& tape, DType dtype, Shape shape, const std::vector<double>& values) {
  return for_float(dtype, "constant", [&](auto zero) {
    using T = decltype(zero);
    return tape.input<T>(shape, converted<T>(values));
  });
}
inline Tensor ones(Tape& tape, DType dtype, Shape shape) {
  return constant(tape, dtype, shape, std::vector<double>(static_cast<std::size_t>(shape.size()), 1.0));
}
inline Tensor ids(Tape& tape, Shape shape, const std::vector<std::int32_t>& values) { return tape.input<std::int32_t>(shape, values); }

/// An f32 tensor with some values, for misfits.
inline Tensor some(Tape& tape, Shape shape) { return tape.input<float>(shape, numbers(shape.size(), 1)); }

}  // namespace dikkat::gradcheck
