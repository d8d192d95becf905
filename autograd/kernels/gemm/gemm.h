#pragma once

#include <cstddef>
#include <type_traits>

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"
#include "autograd/base/packed_matrix.h"

namespace dikkat::kernels {

inline constexpr index kMostDepth = 768;         // a tile's rows of A stay in L1, a panel of B in L2, and C is seldom read again
inline constexpr index kDepthOfGradients = 512;  // depth for gradients of weights: each of two threads gets half of a batch of 768 rows

/// C (m, n) = op(A) (m, k) * op(B) (k, n), plus bias (n) in every row, plus the previous C if `add`, plus the product `plus`.
/// op(A) is A, row-major (m, k) with lda elements from row to row; or, if transpose_a, A transposed, where A is (k, m). op(B) likewise.
/// Operand, Target and Sum are the types of A's and B's pointers, of C's, and of sums.
template <class Operand, class Target, class Sum>
struct GemmOf {
  index m = 0, n = 0, k = 0;
  Operand a = nullptr;
  index lda = 0;
  bool transpose_a = false;
  Operand b = nullptr;
  index ldb = 0;
  bool transpose_b = false;
  Target c = nullptr;
  index ldc = 0;
  bool add = false;
  const Sum* bias = nullptr;
  index depth = kMostDepth;                // sums are over blocks of at most as many k, and are added in turn; AMX and Eigen ignore it
  const PackedMatrix* packed_b = nullptr;  // B in fewer bytes, in place of b: (n, k) with transpose_b, else (k, n). Only for f32 and bf16
  bool lower = false;                      // C is symmetric: elements above the diagonal need not be computed, and are undefined then
  const GemmOf* plus = nullptr;            // a product that is added to this one: it has this m, n, c and ldc, and `add`
};

/// A and B are stored as Operand. Sums are computed, and stored in C, as Sum.
template <class Operand, class Sum = Operand>
using Gemm = GemmOf<const Operand*, Sum*, Sum>;

/// Multiplies f32 by our own product, and f64, or f64 sums of f32 operands, by Eigen. An element's bits depend only on its row of op(A),
/// its column of op(B), k and depth, and not on the number of threads. Few rows times a transposed B go to gemm_few_rows(), which reads B
/// in place. If the processor has a product of bf16 (vdpbf16ps) and B does not keep f32, many rows of f32 and a packed B are rounded to
/// bf16.
template <class Operand, class Sum = Operand>
void gemm(const Gemm<Operand, Sum>& problem);

/// A pointer to numbers that are stored as f32 or as bf16: F32 and B16 are the types, const or not.
template <class F32, class B16>
class F32OrBf16 {
 public:
  F32OrBf16(std::nullptr_t) {}                 // NOLINT(google-explicit-constructor): converts as pointers do
  F32OrBf16(F32* numbers) : f32_(numbers) {}   // NOLINT(google-explicit-constructor)
  F32OrBf16(B16* numbers) : bf16_(numbers) {}  // NOLINT(google-explicit-constructor)

  bool is_bf16() const { return bf16_ != nullptr; }
  F32* as_f32() const { return f32_; }
  B16* as_bf16() const { return bf16_; }
  /// Calls f(as_f32()) or f(as_bf16()).
  template <class F>
  auto visit(F&& f) const {
    return bf16_ != nullptr ? f(bf16_) : f(f32_);
  }

 private:
  F32* f32_ = nullptr;
  B16* bf16_ = nullptr;
};
using Bf16Source = F32OrBf16<const float, const bf16>;
using Bf16Target = F32OrBf16<float, bf16>;

/// The product of numbers that are bf16, or are rounded to it, with sums in f32, which are rounded once if C is bf16. An element is summed
/// over words of two k, in blocks, as simd::multiply_add_words() does. Without that instruction, or where it is slow, numbers are widened
/// and multiplied as f32, with the same bits. AMX and arm64's bfmmla add in ways of their own (tests/kernels/reference/gemm.h).
using Bf16Gemm = GemmOf<Bf16Source, Bf16Target, float>;
void gemm(const Bf16Gemm& problem);

/// The product with operands of T.
template <class T>
using GemmOn = std::conditional_t<std::is_same_v<T, bf16>, Bf16Gemm, Gemm<T>>;

}  // namespace dikkat::kernels
