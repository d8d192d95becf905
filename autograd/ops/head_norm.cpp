#include "autograd/ops/head_norm.h"

#include "autograd/kernels/head_norm.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor head_norm(Tensor x, Tensor q_gamma, Tensor k_gamma, const HeadNormOptions& o) {
  return for_stored(x.dtype(), "head_norm", [&](auto zero) {
    using T = decltype(zero);
    using C = Computed<T>;
    Tape& tape = begin_product(Op::head_norm, x, {q_gamma, k_gamma});
    // Check that the gains fit the columns.
    require(o.heads >= 0 && o.key_heads >= 0 && o.heads + o.key_heads > 0, "head_norm: ", o.heads, " heads of queries and ", o.key_heads,
            " of keys, expected 1 or more of one of them");
    require((o.heads > 0) == bool{q_gamma} && (o.key_heads > 0) == bool{k_gamma},
            "head_norm: a gamma for heads that are not there, or none for heads that are, expected one for each kind");
    const index size = q_gamma ? q_gamma.size() : 0;
    const index key_size = k_gamma ? k_gamma.size() : 0;
    for (const Tensor gamma : {q_gamma, k_gamma}) {
      require(!gamma || (gamma.shape().rank() == 1 && gamma.size() > 0), "head_norm: gamma is ", gamma ? gamma.shape() : Shape{},
              ", expected one axis, as long as a head");
    }
    const index normalized = o.heads * size + o.key_heads * key_size;
    require(x.shape().rank() >= 1 && x.shape().cols() >= normalized, "head_norm: x is ", x.shape(), ", expected ", normalized,
            " columns or more");
    // Forward and backward share the description of the problem.
    const Tensor y = tape.make(x.shape(), x.dtype());
    const kernels::HeadNorm<T> problem{.rows = x.shape().rows(),
                                       .heads = o.heads,
                                       .key_heads = o.key_heads,
                                       .size = size,
                                       .key_size = key_size,
                                       .rest = x.shape().cols() - normalized,
                                       .eps = o.eps,
                                       .q_gamma = q_gamma ? q_gamma.data<C>() : nullptr,
                                       .k_gamma = k_gamma ? k_gamma.data<C>() : nullptr,
                                       .x = x.data<T>(),
                                       .y = y.mutable_data<T>()};
    // Normalize, and record the backward pass.
    kernels::head_norm_forward(problem);
    tape.record({x, q_gamma, k_gamma}, {y}, cost_of({x, q_gamma, k_gamma}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.y = g.reuse<T>(y);  // the gradient of x is computed in place, so that of the values needs no copy
      backward.dq_gamma = q_gamma ? g.into<C>(q_gamma) : GradOut<C>{};
      backward.dk_gamma = k_gamma ? g.into<C>(k_gamma) : GradOut<C>{};
      kernels::head_norm_backward(backward);
      g.pass(y, x);
    });
    return y;
  });
}

}  // namespace dikkat
