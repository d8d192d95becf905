#include "autograd/ops/linear.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor matmul(Tensor a, Tensor b, bool transpose_b) {
  return for_float(a.dtype(), "matmul", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::matmul, {a, b});
    const Shape& sa = a.shape();
    const Shape& sb = b.shape();
    const auto refuse = [&] {
      fail("matmul: ", sa, " times ", sb, transpose_b ? " transposed" : "",
           ", expected (..., m, k) times (..., k, n) with equal leading axes");
    };
    if (sa.rank() < 2 || sa.rank() != sb.rank() || sa[-1] != sb[transpose_b ? -1 : -2]) {
      refuse();
    }
    index count = 1;
    for (int axis = 0; axis < sa.rank() - 2; ++axis) {
      if (sa[axis] != sb[axis]) {
        refuse();
      }
      count *= sa[axis];
    }
    const index m = sa[-2];
    const index k = sa[-1];
    const index n = sb[transpose_b ? -2 : -1];
    const index ldb = sb[-1];
    const Tensor y = tape.make(sa.with_cols(n), a.dtype());
    for (index i = 0; i < count; ++i) {
      kernels::gemm<T>({.m = m,
                        .n = n,
                        .k = k,
                        .a = a.data<T>() + i * m * k,
                        .lda = k,
                        .b = b.data<T>() + i * k * n,
                        .ldb = ldb,
                        .transpose_b = transpose_b,
                        .c = y.mutable_data<T>() + i * m * n,
                        .ldc = n});
    }
    tape.record({a, b}, {y}, [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      if (auto da = g.into<T>(a)) {  // dy b^T
        for (index i = 0; i < count; ++i) {
          kernels::gemm<T>({.m = m,
                            .n = k,
                            .k = n,
                            .a = dy + i * m * n,
                            .lda = n,
                            .b = b.data<T>() + i * k * n,
                            .ldb = ldb,
                            .transpose_b = !transpose_b,
                            .c = da.data + i * m * k,
                            .ldc = k,
                            .add = da.add});
        }
      }
      if (auto db = g.into<T>(b)) {
        for (index i = 0; i < count; ++i) {
          const T* own_a = a.data<T>() + i * m * k;
          const T* own_dy = dy + i * m * n;
          T* out = db.data + i * k * n;
          if (transpose_b) {  // dy^T a
            kernels::gemm<T>({.m = n,
                              .n = k,
                              .k = m,
                              .a = own_dy,
                              .lda = n,
                              .transpose_a = true,
                              .b = own_a,
                              .ldb = k,
                              .c = out,
                              .ldc = k,
                              .add = db.add});
          } else {  // a^T dy
            kernels::gemm<T>({.m = k,
                              .n = n,
                              .k = m,
                              .a = own_a,
                              .lda = k,
                              .transpose_a = true,
                              .b = own_dy,
                              .ldb = n,
                              .c = out,
                              .ldc = n,
                              .add = db.add});
          }
        }
      }
    });
    return y;
  });
}

Tensor linear(Tensor x, Tensor weight, Tensor bias) {
  return for_float(x.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::linear, {x, weight, bias});
    const index rows = x.shape().rows();
    const index in = x.shape().cols();
    require(weight.shape().rank() == 2 && weight.shape()[1] == in, "linear: weight is ", weight.shape(), ", expected [out, ", in,
            "] for x ", x.shape());
    const index out = weight.shape()[0];
    require(!bias || bias.shape() == Shape{out}, "linear: bias is ", bias ? bias.shape() : Shape{}, ", expected [", out, "]");
    const Tensor y = tape.make(x.shape().with_cols(out), x.dtype());
    kernels::gemm<T>({.m = rows,
                      .n = out,
                      .k = in,
                      .a = x.data<T>(),
                      .lda = in,
                      .b = weight.data<T>(),
                      .ldb = in,
                      .transpose_b = true,
                      .c = y.mutable_data<T>(),
                      .ldc = out,
                      .bias = bias ? bias.data<T>() : nullptr});
    tape.record({x, weight, bias}, {y}, [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      if (auto dx = g.into<T>(x)) {  // dy weight
        kernels::gemm<T>(
            {.m = rows, .n = in, .k = out, .a = dy, .lda = out, .b = weight.data<T>(), .ldb = in, .c = dx.data, .ldc = in, .add = dx.add});
      }
      if (auto dw = g.into<T>(weight)) {  // dy^T x
        kernels::gemm<T>({.m = out,
                          .n = in,
                          .k = rows,
                          .a = dy,
                          .lda = out,
                          .transpose_a = true,
                          .b = x.data<T>(),
                          .ldb = in,
                          .c = dw.data,
                          .ldc = in,
                          .add = dw.add});
      }
      if (!bias) {
        return;
      }
      if (auto db = g.into<T>(bias)) {
        kernels::sum_rows<T>(rows, out, dy, db);
      }
    });
    return y;
  });
}

}  // namespace dikkat
