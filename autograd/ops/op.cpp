#include "autograd/ops/op.h"

#include <algorithm>

namespace dikkat {

Tape& begin_op(const char* op, std::span<const Tensor> operands, std::span<const Tensor> others) {
  Tape* tape = nullptr;
  const auto find_tape = [&](Tensor operand) {
    if (operand && operand.tape() != nullptr) {
      require(tape == nullptr || tape == operand.tape(), op, ": operands are on two different tapes, expected one tape");
      tape = operand.tape();
    }
  };
  Tensor first;
  for (const Tensor operand : operands) {
    if (operand) {
      first = first ? first : operand;
      require(operand.dtype() == first.dtype(), op, ": operands hold ", first.dtype(), " and ", operand.dtype(),
              ", expected the same element type");
      find_tape(operand);
    }
  }
  std::for_each(others.begin(), others.end(), find_tape);
  require(tape != nullptr, op, ": all operands are parameters, expected tape.use(parameter) for one of them");
  tape->begin(op);
  return *tape;
}

}  // namespace dikkat
