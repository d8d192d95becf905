#include "autograd/ops/batched_product.h"

namespace dikkat {

Tensor batched_product(Op op, Tensor a, Tensor b, const kernels::GemmBatch& batch, const Shape& shape) {
  return for_stored(a.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {a, b});
    const Tensor y = tape.make(shape, a.dtype());
    kernels::gemm_batch<T>(batch, a.data<T>(), b.data<T>(), {y.mutable_data<T>()});
    // Each gradient is as many multiply-adds.
    const double flops =
        2 * static_cast<double>(batch.count()) * static_cast<double>(batch.m) * static_cast<double>(batch.n) * static_cast<double>(batch.k);
    const OpCost cost = cost_of({a, b}, {y}, flops, flops * (int{a.needs_gradient()} + int{b.needs_gradient()}));
    tape.record({a, b}, {y}, cost, [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      if (auto da = g.into<T>(a)) {
        batch.transpose_a ? kernels::gemm_batch<T>(batch.for_a(), b.data<T>(), dy, da)
                          : kernels::gemm_batch<T>(batch.for_a(), dy, b.data<T>(), da);
      }
      if (auto db = g.into<T>(b)) {
        batch.transpose_b ? kernels::gemm_batch<T>(batch.for_b(), dy, a.data<T>(), db)
                          : kernels::gemm_batch<T>(batch.for_b(), a.data<T>(), dy, db);
      }
    });
    return y;
  });
}

}  // namespace dikkat
