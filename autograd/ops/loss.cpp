#include "autograd/ops/loss.h"

#include "autograd/kernels/cross_entropy.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor cross_entropy(Tensor logits, Tensor targets, Tensor weights, std::optional<double> normaliser) {
  return for_float(logits.dtype(), "cross_entropy", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::cross_entropy, {logits}, {targets, weights});
    const index rows = logits.shape().rows();
    const index cols = logits.shape().cols();
    require(logits.shape().rank() >= 1 && targets.dtype() == DType::i32 && targets.size() == rows, "cross_entropy: targets are ",
            targets.dtype(), " ", targets.shape(), ", expected ", rows, " of i32 for logits ", logits.shape());
    require(!weights || (weights.dtype() == DType::f32 && weights.size() == rows), "cross_entropy: weights are ",
            weights ? weights.shape() : Shape{}, ", expected ", rows, " of f32");
    const double divisor = normaliser.value_or(static_cast<double>(rows));
    require(divisor > 0, "cross_entropy: normaliser ", divisor, ", expected more than 0");
    const auto* ids = targets.data<std::int32_t>();
    const float* w = weights ? weights.data<float>() : nullptr;
    for (index i = 0; i < rows; ++i) {
      require((w != nullptr && w[i] == 0) || (0 <= ids[i] && ids[i] < cols), "cross_entropy: target ", ids[i], ", expected 0 to ",
              cols - 1);
    }
    T* log_sum_exp = tape.save<T>(rows);
    T* losses = tape.save<T>(rows);
    const Tensor y = tape.make(Shape{}, logits.dtype());
    const kernels::CrossEntropy<T> problem{.rows = rows,
                                           .cols = cols,
                                           .logits = logits.data<T>(),
                                           .targets = ids,
                                           .weights = w,
                                           .normaliser = divisor,
                                           .log_sum_exp = log_sum_exp,
                                           .losses = losses};
    kernels::cross_entropy_forward(problem);
    *y.mutable_data<T>() = kernels::sum(rows, losses);
    tape.record({logits}, {y}, [=](Gradients& g) {
      auto backward = problem;
      backward.dloss = *g.of<T>(y);
      backward.dlogits = g.into<T>(logits);
      kernels::cross_entropy_backward(backward);
    });
    return y;
  });
}

}  // namespace dikkat
