#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// C (m, n) = op(A) (m, k) * op(B) (k, n), plus bias (n) in every row, plus what C holds if `add`.
/// op(A) is A, row-major (m, k) with lda elements from row to row; or, if transpose_a, A transposed, where A is (k, m). Likewise B.
/// A and B lie in memory as Operand. Sums are computed, and stored in C, as Sum.
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
  bool lower = false;  // C is symmetric, so what lies above its diagonal may be left out: it holds anything then
};

enum class GemmLibrary { onednn, packed, eigen };  // packed is our own product

/// f32 by oneDNN on AVX-512 where it was built in, elsewhere by our own product; f64, and sums in f64 of f32 operands, by Eigen. C is cut
/// into blocks by the shape alone and each block is one thread's, so the bits do not depend on the number of threads. Few rows times B
/// transposed read B where it lies.
template <class Operand, class Sum = Operand>
void gemm(const Gemm<Operand, Sum>& problem);

/// The library that gemm<float> uses.
GemmLibrary gemm_library() noexcept;

/// The same by a given library, for tests. Throws Error where that library was not built in, or lacks the type.
template <class T>
void gemm_by(GemmLibrary library, const Gemm<T>& problem);

/// Whether this thread is inside the matrix library now. Tests use it to leave the library's allocations out.
bool inside_gemm_library() noexcept;

}  // namespace dikkat::kernels
