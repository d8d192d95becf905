#include "autograd/ops/op.h"

namespace dikkat {

Tape& begin_op(Op op, std::span<const Tensor> operands) {
  Tape* tape = nullptr;
  Tensor floats;  // the first operand that holds f32 or f64
  for (const Tensor operand : operands) {
    if (!operand) {
      continue;
    }
    if (operand.dtype() != DType::i32) {
      floats = floats ? floats : operand;
      require(operand.dtype() == floats.dtype(), op, ": operands hold ", floats.dtype(), " and ", operand.dtype(), ", expected one element type");
    }
    if (operand.tape() != nullptr) {
      require(tape == nullptr || tape == operand.tape(), op, ": operands come from two tapes, expected one");
      tape = operand.tape();
    }
  }
  require(tape != nullptr, op, ": all operands are parameters, expected tape.use(parameter) for one of them");
  tape->begin(name_of(op));
  return *tape;
}

}  // namespace dikkat
