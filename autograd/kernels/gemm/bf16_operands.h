#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

/// Returns the same product with operands that are rounded to bf16. The sums stay in f32. `plus` is left out.
inline Bf16Gemm with_bf16_operands(const Gemm<float>& p) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .a = p.a,
          .lda = p.lda,
          .transpose_a = p.transpose_a,
          .b = p.b,
          .ldb = p.ldb,
          .transpose_b = p.transpose_b,
          .c = p.c,
          .ldc = p.ldc,
          .add = p.add,
          .bias = p.bias,
          .depth = p.depth,
          .packed_b = p.packed_b,
          .lower = p.lower};
}

}  // namespace dikkat::kernels
