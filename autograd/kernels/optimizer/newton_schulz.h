#pragma once

#include <span>

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// A Newton-Schulz iteration, which brings all singular values of a matrix near to 1 and does not change its singular vectors (Keller
/// Jordan 2024, kellerjordan.github.io/posts/muon):
///   X = u / (norm_factor |u| + norm_rest), with |u| the root of the sum of squares;
///   for each step: A = X X^T,  X = a X + (b A + c A^2) X.
struct NewtonSchulz {
  struct Step {
    double a, b, c;
  };
  std::span<const Step> steps{};
  double norm_factor = 1, norm_rest = 1e-7;
  /// Whether row i of X is then divided by sqrt(sum_j |A_ij|), A = X X^T, which brings the largest singular value near to 1 and below it
  /// (Turbo-Muon, arXiv 2512.04632). With more rows than columns, the columns and X^T X.
  bool balanced = false;
  /// Steps of a matrix that is at least twice as long as wide are computed in groups of at most this many, each from one A. In f32, larger
  /// groups lose digits of small singular values, and more so the steeper the polynomials are. With `bf16`, every step has its own A.
  int largest_group = 3;
  /// Whether products of f32 matrices round their operands to bf16. Sums and all stored matrices stay in f32.
  bool bf16 = false;
};

/// Makes X (rows, cols), contiguous, nearly orthogonal. The result is in x or in `other`, of the same size; both are overwritten.
template <class T>
T* orthogonalise(const NewtonSchulz& how, index rows, index cols, T* x, T* other, T* workspace);

/// Returns the number of elements of a workspace.
index newton_schulz_workspace(index rows, index cols);
/// Returns the floating-point operations of its products. Symmetric ones count half.
double newton_schulz_flops(const NewtonSchulz& how, index rows, index cols);

}  // namespace dikkat::kernels
