#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// C (m, n) = op(A) (m, k) * op(B) (k, n), plus bias (n) in every row, plus the previous C if `add`.
/// op(A) is A, row-major (m, k) with lda elements from row to row; or, if transpose_a, A transposed, where A is (k, m). The same for B.
/// A and B are stored as Operand. Sums are computed, and stored in C, as Sum.
template <class Operand, class Sum = Operand>
struct Gemm {
  index m = 0, n = 0, k = 0;
  const Operand* a = nullptr;
  index lda = 0;
  bool transpose_a = false;
  const Operand* b = nullptr;
  index ldb = 0;
  bool transpose_b = false;
  Sum* c = nullptr;
  index ldc = 0;
  bool add = false;
  const Sum* bias = nullptr;
  bool lower = false;  // C is symmetric: elements above the diagonal need not be computed, and are undefined then
};

/// f32: our own product. f64, and f64 sums of f32 operands: Eigen. An element's bits depend on its row of op(A), its column of op(B) and k
/// alone, and not on the number of threads. Few rows times a transposed B go to gemm_few_rows(), which reads B in place.
template <class Operand, class Sum = Operand>
void gemm(const Gemm<Operand, Sum>& problem);

}  // namespace dikkat::kernels
