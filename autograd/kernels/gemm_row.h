#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::kernels {

constexpr index kFewRows = 16;

/// Whether a product is few rows times B transposed, as each step of a recurrence, or of sampling, has it.
template <class T>
bool is_few_rows(const Gemm<T>& p) noexcept {
  return p.m <= kFewRows && !p.transpose_a && p.transpose_b;
}

/// The same as gemm() for such a product. B is read once, where it lies, by all threads: to pack it first, as pays for many rows, would
/// move it three times. From nine rows on it is read again from L2. An element of C is the same sum whatever m, n and the threads are.
template <class T>
void gemm_few_rows(const Gemm<T>& p);

}  // namespace dikkat::kernels
