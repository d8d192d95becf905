#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

constexpr index kFewRows = 16;

/// Returns whether a product is a few rows times B transposed, as in each step of a recurrence, or for each generated token.
template <class T>
bool is_few_rows(const Gemm<T>& p) noexcept {
  return p.m <= kFewRows && !p.transpose_a && p.transpose_b;
}

/// Does what gemm() does, but for such a product. It reads B once, in place, whereas packing B would move it three times. With nine rows or
/// more, B is read a second time, from L2. The bits of an element of C do not depend on m, n or the number of threads.
template <class T>
void gemm_few_rows(const Gemm<T>& p);

}  // namespace dikkat::kernels
