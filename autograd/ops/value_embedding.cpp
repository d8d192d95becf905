#include "autograd/ops/value_embedding.h"

#include <array>

#include "autograd/kernels/value_embedding.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor add_value_embedding(Tensor qkv, Tensor x, Tensor rows, Tensor gate) {
  return for_stored(qkv.dtype(), "add_value_embedding", [&](auto zero) {
    using T = decltype(zero);
    using C = Computed<T>;
    Tape& tape = begin_product(Op::add_value_embedding, std::array{qkv, x}, {rows, gate});
    // Check that the shapes agree.
    for (const Tensor each : {qkv, x, rows}) {
      require(each.shape().rank() >= 1 && each.shape().rows() == qkv.shape().rows(), "add_value_embedding: qkv is ", qkv.shape(),
              ", another operand ", each.shape(), ", expected as many rows");
    }
    require(gate.shape().rank() == 2 && gate.shape()[0] >= 1 && gate.shape()[1] <= x.shape().cols(), "add_value_embedding: the gate is ",
            gate.shape(), ", expected (heads, channels) with at most the ", x.shape().cols(), " channels of x");
    const index heads = gate.shape()[0];
    const index values = rows.shape().cols();
    require(values % heads == 0 && values <= qkv.shape().cols(), "add_value_embedding: rows are ", rows.shape(), " for qkv ", qkv.shape(),
            ", expected ", heads, " heads of equal size that fit into it");
    // Forward and backward share the description of the problem.
    const Tensor y = tape.make(qkv.shape(), qkv.dtype());
    const kernels::ValueEmbedding<T> problem{.rows = qkv.shape().rows(),
                                             .before = qkv.shape().cols() - values,
                                             .heads = heads,
                                             .size = values / heads,
                                             .width = x.shape().cols(),
                                             .channels = gate.shape()[1],
                                             .x = x.data<T>(),
                                             .e = rows.data<C>(),
                                             .gate = gate.data<C>(),
                                             .qkv = qkv.data<T>(),
                                             .y = y.mutable_data<T>()};
    // Compute the sum, and record the backward pass.
    kernels::value_embedding_forward(problem);
    const double gates = 2 * static_cast<double>(problem.rows) * static_cast<double>(gate.size());
    tape.record({qkv, x, rows, gate}, {y}, cost_of({qkv, rows, gate}, {y}, gates, 2 * gates), [=](Gradients& g) {
      auto backward = problem;
      backward.dy = g.of<T>(y);
      backward.dx = g.into<T>(x);
      backward.de = g.into<C>(rows);
      backward.dgate = g.into<C>(gate);
      kernels::value_embedding_backward(backward);
      g.pass(y, qkv);  // the sum's gradient is that of the product
    });
    return y;
  });
}

}  // namespace dikkat
