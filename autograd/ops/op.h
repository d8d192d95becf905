#pragma once

#include "autograd/tape/tape.h"

namespace dikkat {

/// The names of all ops: X(name), X(name) ... The enumeration and the strings are made from this list.
// clang-format off
#define DIKKAT_OPS(X) \
  X(add), X(subtract), X(multiply), X(divide), X(maximum), X(minimum), X(power), X(scale), X(weighted_sum), X(where), /* arithmetic */ \
  X(abs), X(square), X(sqrt), X(rsqrt), X(exp), X(log), X(sin), X(cos), X(erf), X(clamp), X(elementwise), X(dropout), X(cast), \
  X(gelu), X(relu), X(relu2), X(silu), X(gated), X(sigmoid), X(tanh), X(softplus), /* activations */ \
  X(reshape), X(slice), X(concat), X(permute), X(diagonal), X(broadcast_to), X(pad), /* moves */ \
  X(sum), X(mean), X(max), X(min), X(logsumexp), X(variance), X(softmax), X(log_softmax), X(cumsum), /* reductions */ \
  X(embedding), X(gather), X(scatter_add), X(index_select), /* lookups */ \
  X(matmul), X(einsum), X(linear), X(activated_linear), X(adapted_linear), /* products */ \
  X(conv1d), X(conv2d), X(unfold), X(max_pool1d), X(max_pool2d), X(avg_pool1d), X(avg_pool2d), /* windows of images */ \
  X(layer_norm), X(add_layer_norm), X(rms_norm), X(add_rms_norm), X(head_norm), X(add_value_embedding), X(attention), X(lstm), /* layers */ \
  X(cross_entropy), X(linear_cross_entropy), X(mse_loss), X(huber_loss), X(binary_cross_entropy), X(kl_divergence) /* losses */
// clang-format on

/// Every op of the library. The tests only compile if each has a gradient check.
#define DIKKAT_ENUMERATOR(name) name
enum class Op : int { DIKKAT_OPS(DIKKAT_ENUMERATOR), count };
#undef DIKKAT_ENUMERATOR

#define DIKKAT_NAME(name) #name
inline constexpr const char* kOpNames[] = {DIKKAT_OPS(DIKKAT_NAME), "?"};
#undef DIKKAT_NAME
#undef DIKKAT_OPS

constexpr const char* name_of(Op op) { return kOpNames[static_cast<int>(op)]; }
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

/// Does what begin_op() does, but for an op of activations and of parameters. Parameters have the type that activations are computed in,
/// which is f32 for bf16.
Tape& begin_product(Op op, std::span<const Tensor> activations, std::initializer_list<Tensor> parameters,
                    std::initializer_list<Tensor> others = {});
inline Tape& begin_product(Op op, Tensor x, std::initializer_list<Tensor> parameters, std::initializer_list<Tensor> others = {}) {
  return begin_product(op, std::span(&x, 1), parameters, others);
}

/// Ends an op whose result has no gradient, in place of Tape::record(). `read` are the tensors that the op has read.
void end_without_gradient(Tape& tape, std::span<const Tensor> read, Tensor y);
inline void end_without_gradient(Tape& tape, std::initializer_list<Tensor> read, Tensor y) {
  end_without_gradient(tape, std::span(read.begin(), read.size()), y);
}

}  // namespace dikkat
