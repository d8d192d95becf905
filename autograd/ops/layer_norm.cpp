#include "autograd/ops/layer_norm.h"

#include "autograd/kernels/layer_norm.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta, double eps) {
  return for_float(x.dtype(), "layer_norm", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::layer_norm, {x, gamma, beta});
    const index rows = x.shape().rows();
    const index cols = x.shape().cols();
    require(gamma.shape() == Shape{cols}, "layer_norm: gamma is ", gamma.shape(), ", expected [", cols, "]");
    require(!beta || beta.shape() == Shape{cols}, "layer_norm: beta is ", beta ? beta.shape() : Shape{}, ", expected [", cols, "]");
    const Tensor y = tape.make(x.shape(), x.dtype());
    T* mean = tape.save<T>(rows);
    T* rstd = tape.save<T>(rows);
    kernels::layer_norm_forward<T>({.rows = rows,
                                    .cols = cols,
                                    .eps = eps,
                                    .x = x.data<T>(),
                                    .gamma = gamma.data<T>(),
                                    .beta = beta ? beta.data<T>() : nullptr,
                                    .y = y.mutable_data<T>(),
                                    .mean = mean,
                                    .rstd = rstd});
    tape.record({x, gamma, beta}, {y}, [=](Gradients& g) {
      kernels::layer_norm_backward<T>({.rows = rows,
                                       .cols = cols,
                                       .dy = g.of<T>(y),
                                       .x = x.data<T>(),
                                       .gamma = gamma.data<T>(),
                                       .mean = mean,
                                       .rstd = rstd,
                                       .dx = g.into<T>(x),
                                       .dgamma = g.into<T>(gamma),
                                       .dbeta = beta ? g.into<T>(beta) : GradOut<T>{}});
    });
    return y;
  });
}

}  // namespace dikkat
