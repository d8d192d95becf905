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

enum class GemmLibrary { onednn, packed, eigen };  // packed is our own product

/// f32: oneDNN on AVX-512 if it was built in, otherwise our own product. f64, and f64 sums of f32 operands: Eigen. The shape alone decides
/// how C is split into blocks, and one thread computes a block, so the bits do not depend on the number of threads. Few rows times a
/// transposed B go to gemm_few_rows(), which reads B in place.
template <class Operand, class Sum = Operand>
void gemm(const Gemm<Operand, Sum>& problem);

/// The library that gemm<float> uses.
GemmLibrary gemm_library() noexcept;

/// The same with a given library, for tests. Throws Error if the library was not built in or does not have the type.
template <class T>
void gemm_by(GemmLibrary library, const Gemm<T>& problem);

/// Whether this thread is inside the matrix library now. Tests use it to ignore the library's allocations.
bool inside_gemm_library() noexcept;

}  // namespace dikkat::kernels
