#include "autograd/ops/op.h"

#include <algorithm>
#include <array>

namespace dikkat {

Tape& begin_op(const char* op, std::span<const Tensor> operands, std::span<const Tensor> others) {
  Tape* tape = nullptr;
  const auto find_tape = [&](Tensor operand) {
    if (operand && operand.tape() != nullptr) {
      require(!operand.record()->released, op, ": an operand has Lifetime::until_consumed, and another op has consumed it");
      require(tape == nullptr || tape == operand.tape(), op, ": operands are on two different tapes, expected one tape");
      tape = operand.tape();
    }
  };
  Tensor first;
  for (const Tensor operand : operands) {
    if (operand) {
      first = first ? first : operand;
      require(operand.dtype() == first.dtype(), op, ": operands hold ", first.dtype(), " and ", operand.dtype(),
              ", expected the same element type; cast() changes it");
      find_tape(operand);
    }
  }
  std::for_each(others.begin(), others.end(), find_tape);
  require(tape != nullptr, op, ": all operands are parameters, expected tape.use(parameter) for one of them");
  tape->begin(op);
  return *tape;
}

Tape& begin_product(Op op, std::span<const Tensor> activations, std::initializer_list<Tensor> parameters,
                    std::initializer_list<Tensor> others) {
  const DType stored = activations.front().dtype();
  const DType expected = stored == DType::bf16 ? DType::f32 : stored;
  std::array<Tensor, 8> rest;  // enough for all ops: nothing is allocated in a step
  std::copy(parameters.begin(), parameters.end(), rest.begin());
  std::copy(others.begin(), others.end(), rest.begin() + parameters.size());
  for (const Tensor parameter : parameters) {
    if (parameter && parameter.dtype() != expected) {
      fail(op, ": x holds ", stored, " and a parameter ", parameter.dtype(), ", expected ", expected);
    }
  }
  return begin_op(op, activations, std::span(rest).first(parameters.size() + others.size()));
}

void end_without_gradient(Tape& tape, std::span<const Tensor> read, Tensor y) {
  const OpCost cost{.forward = {.bytes = bytes_of(read) + bytes_of(y)}, .backward = {}};
  tape.record(std::span<const Tensor>(), std::span(&y, 1), cost, [](Gradients&) {});
}

}  // namespace dikkat
