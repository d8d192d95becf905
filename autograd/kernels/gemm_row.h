#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::kernels {

/// Whether a product is one row times B transposed, as each step of a recurrence, or of sampling, has it for one sequence.
template <class T>
bool is_one_row(const Gemm<T>& p) noexcept {
  return p.m == 1 && !p.transpose_a && p.transpose_b;
}

/// The same as gemm() for such a product. B is read once, where it lies, by all threads: to pack it first, as pays for many rows, would
/// move it three times. An element of C is the same sum whatever n and the threads are.
template <class T>
void gemm_one_row(const Gemm<T>& p) noexcept;

}  // namespace dikkat::kernels
