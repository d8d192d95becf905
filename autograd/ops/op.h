#pragma once

#include "autograd/tape/tape.h"

namespace dikkat {

/// Every op of the library. The tests only compile if each has a gradient check.
enum class Op : int {
  add,
  multiply,
  scale,
  weighted_sum,
  matmul,
  linear,
  activated_linear,
  adapted_linear,
  gelu,
  relu,
  relu2,
  silu,
  gated,
  sigmoid,
  tanh,
  exp,
  log,
  power,
  softmax,
  layer_norm,
  add_layer_norm,
  rms_norm,
  add_rms_norm,
  head_norm,
  add_value_embedding,
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
  cast,
  count
};

constexpr const char* name_of(Op op) {
  switch (op) {
    case Op::add: return "add";
    case Op::multiply: return "multiply";
    case Op::scale: return "scale";
    case Op::weighted_sum: return "weighted_sum";
    case Op::matmul: return "matmul";
    case Op::linear: return "linear";
    case Op::activated_linear: return "activated_linear";
    case Op::adapted_linear: return "adapted_linear";
    case Op::gelu: return "gelu";
    case Op::relu: return "relu";
    case Op::relu2: return "relu2";
    case Op::silu: return "silu";
    case Op::gated: return "gated";
    case Op::sigmoid: return "sigmoid";
    case Op::tanh: return "tanh";
    case Op::exp: return "exp";
    case Op::log: return "log";
    case Op::power: return "power";
    case Op::softmax: return "softmax";
    case Op::layer_norm: return "layer_norm";
    case Op::add_layer_norm: return "add_layer_norm";
    case Op::rms_norm: return "rms_norm";
    case Op::add_rms_norm: return "add_rms_norm";
    case Op::head_norm: return "head_norm";
    case Op::add_value_embedding: return "add_value_embedding";
    case Op::dropout: return "dropout";
    case Op::embedding: return "embedding";
    case Op::attention: return "attention";
    case Op::cross_entropy: return "cross_entropy";
    case Op::linear_cross_entropy: return "linear_cross_entropy";
    case Op::sum: return "sum";
    case Op::mean: return "mean";
    case Op::reshape: return "reshape";
    case Op::slice: return "slice";
    case Op::concat: return "concat";
    case Op::cast: return "cast";
    case Op::count: break;
  }
  return "?";
}

inline void append_to(std::string& out, Op op) { out += name_of(op); }

/// Begins the op `name` and returns the tape of its operands. `others` (token ids, weights, bounds) may have other element types. Any
/// operand may be absent (null). Also for ops outside of the library: examples/custom_op.cpp is one.
/// Throws Error if no operand has a tape, if two have different ones, or if two operands have different element types.
Tape& begin_op(const char* name, std::span<const Tensor> operands, std::span<const Tensor> others = {});
inline Tape& begin_op(const char* name, std::initializer_list<Tensor> operands, std::initializer_list<Tensor> others = {}) {
  return begin_op(name, std::span(operands.begin(), operands.size()), std::span(others.begin(), others.size()));
}
inline Tape& begin_op(Op op, std::span<const Tensor> operands, std::span<const Tensor> others = {}) {
  return begin_op(name_of(op), operands, others);
}
inline Tape& begin_op(Op op, std::initializer_list<Tensor> operands, std::initializer_list<Tensor> others = {}) {
  return begin_op(name_of(op), operands, others);
}

/// As begin_op(), for an op of activations and of parameters. Parameters have the type that activations are computed in, which is f32 for
/// bf16.
Tape& begin_product(Op op, std::span<const Tensor> activations, std::initializer_list<Tensor> parameters,
                    std::initializer_list<Tensor> others = {});
inline Tape& begin_product(Op op, Tensor x, std::initializer_list<Tensor> parameters, std::initializer_list<Tensor> others = {}) {
  return begin_product(op, std::span(&x, 1), parameters, others);
}

}  // namespace dikkat
