#pragma once

#include <array>

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/base/shape.h"

namespace dikkat::kernels {

/// The sizes and places of a batch of products C (m, n) = op(A) (m, k) op(B) (k, n), one for each index of the axes. Matrices lie as in
/// gemm(): op(A) is A, with lda elements from row to row, or A transposed.
struct GemmBatch {
  /// An axis of the batch: its extent, and the elements from one matrix to the next. 0: all products of the axis have this matrix.
  struct Axis {
    index extent, a, b, c;
  };

  index m = 0, n = 0, k = 0;
  index lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;
  int axes = 0;
  std::array<Axis, Shape::kMaxRank> axis{};

  void add_axis(const Axis& added) { axis[static_cast<std::size_t>(axes++)] = added; }
  const Axis& at(int i) const { return axis[static_cast<std::size_t>(i)]; }
  /// Returns the number of products.
  index count() const;

  /// Returns the products dA = dC op(B)^T, or their transposes: dC takes the place of A, and dA that of C. If A is stored transposed, op(B)
  /// takes the place of A, and dC that of B.
  GemmBatch for_a() const;
  /// Returns the products dB = op(A)^T dC, or their transposes: op(A) takes the place of A, dC that of B, and dB that of C. If B is stored
  /// transposed, dC takes the place of A, and op(A) that of B.
  GemmBatch for_b() const;
};

/// Computes the products, or adds them to C. If C is one matrix for all products of an axis, it is the sum of these products, whose order
/// depends only on shapes. The products of bf16 are summed in f32 and rounded once. No two C may overlap in part.
template <class T>
void gemm_batch(const GemmBatch& batch, const T* a, const T* b, GradOut<T> c);

}  // namespace dikkat::kernels
