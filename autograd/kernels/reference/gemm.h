#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::kernels::reference {

/// What kernels::gemm must equal: C = op(A) op(B) + bias + the previous C if `add`, by plain loops.
template <class T>
void gemm(const Gemm<T>& p) {
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      T total = p.bias != nullptr ? p.bias[j] : T(0);
      for (index l = 0; l < p.k; ++l) {
        total += (p.transpose_a ? p.a[l * p.lda + i] : p.a[i * p.lda + l]) * (p.transpose_b ? p.b[j * p.ldb + l] : p.b[l * p.ldb + j]);
      }
      T& c = p.c[i * p.ldc + j];
      c = p.add ? c + total : total;
    }
  }
}

}  // namespace dikkat::kernels::reference
