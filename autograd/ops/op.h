#pragma once

#include "autograd/tape/tape.h"

namespace dikkat {

/// Every op of the library. Tests have a gradient check for each of them: one that is added here and has none does not compile.
enum class Op : int {
  add,
  multiply,
  scale,
  matmul,
  linear,
  activated_linear,
  gelu,
  relu,
  sigmoid,
  tanh,
  exp,
  log,
  power,
  softmax,
  layer_norm,
  add_layer_norm,
  dropout,
  embedding,
  attention,
  cross_entropy,
  linear_cross_entropy,
  sum,
  mean,
  reshape,
  slice,
  concat,
  count
};

constexpr const char* name_of(Op op) {
  constexpr const char* kNames[] = {"add",
                                    "multiply",
                                    "scale",
                                    "matmul",
                                    "linear",
                                    "activated_linear",
                                    "gelu",
                                    "relu",
                                    "sigmoid",
                                    "tanh",
                                    "exp",
                                    "log",
                                    "power",
                                    "softmax",
                                    "layer_norm",
                                    "add_layer_norm",
                                    "dropout",
                                    "embedding",
                                    "attention",
                                    "cross_entropy",
                                    "linear_cross_entropy",
                                    "sum",
                                    "mean",
                                    "reshape",
                                    "slice",
                                    "concat"};
  static_assert(sizeof kNames / sizeof *kNames == static_cast<std::size_t>(Op::count));
  return kNames[static_cast<int>(op)];
}

inline void append_to(std::string& out, Op op) { out += name_of(op); }

/// The tape of the first operand that has one, told which op begins. `others` (token ids, weights, bounds) may hold another
/// element type. Any may be absent (null).
/// Throws Error when none has a tape, when two have different ones, or when two operands have different element types.
Tape& begin_op(Op op, std::span<const Tensor> operands, std::span<const Tensor> others = {});
inline Tape& begin_op(Op op, std::initializer_list<Tensor> operands, std::initializer_list<Tensor> others = {}) {
  return begin_op(op, std::span(operands.begin(), operands.size()), std::span(others.begin(), others.size()));
}

}  // namespace dikkat
