#pragma once

#include <algorithm>
#include <cmath>

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

/// The same in the order of our own product, bit for bit: the base is the bias and the previous C, and the sum over each block of
/// `depth` of k is added to it in turn.
inline void gemm_in_blocks(const Gemm<float>& p, index depth) {
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      float& c = p.c[i * p.ldc + j];
      bool is_base = p.add;  // whether c holds something to add to
      if (p.bias != nullptr) {
        c = p.add ? c + p.bias[j] : p.bias[j];
        is_base = true;
      }
      for (index begin = 0; begin == 0 || begin < p.k; begin += depth) {
        float sum = 0;
        for (index l = begin; l < std::min(begin + depth, p.k); ++l) {
          sum = std::fma(p.transpose_a ? p.a[l * p.lda + i] : p.a[i * p.lda + l], p.transpose_b ? p.b[j * p.ldb + l] : p.b[l * p.ldb + j],
                         sum);
        }
        c = is_base ? c + sum : sum;
        is_base = true;
      }
    }
  }
}

}  // namespace dikkat::kernels::reference
