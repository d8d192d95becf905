#include "autograd/kernels/muon.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/kernels/adamw.h"
#include "autograd/kernels/gemm.h"
#include "autograd/kernels/magnitude.h"
#include "autograd/kernels/transpose_block.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

/// The five Newton-Schulz iterations in groups: those of a group work on one Gram matrix, and X is multiplied once at the end of a group.
std::span<const int> iteration_groups(index rows, index cols) {
  static constexpr int kSquare[] = {1, 1, 1, 1, 1};
  static constexpr int kLong[] = {3, 2};
  return std::max(rows, cols) < 2 * std::min(rows, cols) ? std::span<const int>(kSquare) : kLong;
}

// Separate functions with __restrict arguments: only then does gcc know that nothing overlaps, and vectorise the loops.

template <class T>
void accumulate(index n, T scale, T beta, T rest, const T* __restrict gradient, T* __restrict momentum, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    const T g = scale * gradient[i];
    momentum[i] = beta * momentum[i] + rest * g;
    x[i] = beta * momentum[i] + rest * g;
  }
}

template <class T>
void combine(index n, T b, const T* __restrict a, T c, T* __restrict to) {
  for (index i = 0; i < n; ++i) {
    to[i] = b * a[i] + c * to[i];
  }
}

/// Writes the mirror image of C (rows from i, columns from j), which lies on or below the diagonal of a symmetric matrix, ld apart.
template <class T>
void mirror_tile(index i, index i_end, index j, index j_end, index ld, T* c) {
  for (index row = i; row < i_end; ++row) {
    for (index col = j; col < std::min(j_end, row); ++col) {
      c[col * ld + row] = c[row * ld + col];
    }
  }
}
void mirror_tile(index i, index i_end, index j, index j_end, index ld, float* c) {
  for (index row = i; row < i_end; row += kTransposeSize) {
    for (index col = j; col < std::min(j_end, row + 1); col += kTransposeSize) {
      if (col < row && row + kTransposeSize <= i_end) {
        transpose_block(c + row * ld + col, ld, kTransposeSize, c + col * ld + row, ld);
      } else {
        mirror_tile<float>(row, std::min(row + kTransposeSize, i_end), col, std::min(col + kTransposeSize, j_end), ld, c);
      }
    }
  }
}

/// Completes a symmetric matrix C (n, n) of which the part above the diagonal is missing, after calling change(row, begin, end) for each
/// piece of a row of the others.
template <class T, class F>
void complete(index n, T* c, F&& change) {
  constexpr index kTile = 32;
  parallel_for_uneven(
      ceil_div(n, kTile), Work::elements(n * n), [] {},
      [&](index tile) {
        const index i = tile * kTile, i_end = std::min(i + kTile, n);
        for (index j = 0; j <= i; j += kTile) {
          for (index row = i; row < i_end; ++row) {
            change(row, j, std::min(j + kTile, row + 1));
          }
          mirror_tile(i, i_end, j, std::min(j + kTile, n), n, c);
        }
      });
}
template <class T>
void complete(index n, T* c) {
  complete(n, c, [](index, index, index) {});
}

/// to (n, n) = A B, all of them symmetric, which holds for polynomials of one matrix.
template <class T>
void multiply_symmetric(index n, const T* a, const T* b, T* to) {
  gemm<T>({.m = n, .n = n, .k = n, .a = a, .lda = n, .b = b, .ldb = n, .c = to, .ldc = n, .lower = true});
}

/// to (n, n) = a I + b A + c A^2.
template <class T>
void polynomial(index n, const T* a, T* to) {
  multiply_symmetric(n, a, a, to);
  complete(n, to, [&](index row, index begin, index end) {
    combine(end - begin, static_cast<T>(kB), a + row * n + begin, static_cast<T>(kC), to + row * n + begin);
    if (end == row + 1) {
      to[row * n + row] += static_cast<T>(kA);
    }
  });
}

/// Orthogonalises X (rows, cols). Iterations that follow from one Gram matrix A = X X^T multiply X only at their end: if X' = p X, where
/// p = a I + b A + c A^2, then X' X'^T = p A p. More than three of them would lose digits of small singular values. With more rows than
/// columns A is X^T X, and products are from the other side: that is the same as transposing X before and afterwards.
template <class T>
const T* orthogonalise(index rows, index cols, T* x, T* other, T* square) {
  const bool tall = rows > cols;
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  T* a = square;
  T* p = a + n * n;
  T* product = p + n * n;  // of this group's polynomials
  T* next = product + n * n;
  for (const int iterations : iteration_groups(rows, cols)) {
    gemm<T>({.m = n,
             .n = n,
             .k = m,
             .a = x,
             .lda = cols,
             .transpose_a = tall,
             .b = x,
             .ldb = cols,
             .transpose_b = !tall,
             .c = a,
             .ldc = n,
             .lower = true});
    complete(n, a);
    for (int i = 0; i < iterations; ++i) {
      polynomial(n, a, p);
      if (i + 1 < iterations) {  // A = p A p
        multiply_symmetric(n, a, p, next);
        complete(n, next);
        multiply_symmetric(n, next, p, a);
        complete(n, a);
      }
      if (i == 0) {
        std::swap(p, product);
      } else {
        multiply_symmetric(n, product, p, next);
        complete(n, next);
        std::swap(product, next);
      }
    }
    if (tall) {
      gemm<T>({.m = rows, .n = n, .k = n, .a = x, .lda = cols, .b = product, .ldb = n, .c = other, .ldc = cols});
    } else {
      gemm<T>({.m = n, .n = cols, .k = n, .a = product, .lda = n, .b = x, .ldb = cols, .c = other, .ldc = cols});
    }
    std::swap(x, other);
  }
  return x;
}

/// Whether weight and momentum are finite afterwards.
template <class T>
bool move(index n, T decay, T rate, const T* __restrict direction, const T* __restrict momentum, T* __restrict weight) {
  Bits<T> highest = 0;
  for (index i = 0; i < n; ++i) {
    weight[i] = weight[i] * decay - rate * direction[i];
    highest = std::max({highest, magnitude(weight[i]), magnitude(momentum[i])});
  }
  return highest < kInfiniteMagnitude<T>;
}

}  // namespace

template <class T>
bool muon(const Muon<T>& p) {
  const index size = p.rows * p.cols;
  T* const x = p.workspace;
  T* const other = x + size;
  const auto scale = static_cast<T>(p.gradient_scale), beta = static_cast<T>(p.beta), rest = static_cast<T>(1 - p.beta);
  parallel_blocks(size, kBlock, [&](index begin, index end) {
    accumulate(end - begin, scale, beta, rest, p.gradient + begin, p.momentum + begin, x + begin);
  });
  const auto inverse = static_cast<T>(1 / (std::sqrt(sum_of_squares(size, x)) + 1e-7));
  parallel_blocks(size, kBlock, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      x[i] *= inverse;
    }
  });
  const T* const direction = orthogonalise(p.rows, p.cols, x, other, other + size);

  const auto decay = static_cast<T>(1 - p.learning_rate * p.weight_decay);
  const auto rate = static_cast<T>(p.learning_rate * 0.2 * std::sqrt(static_cast<double>(std::max(p.rows, p.cols))));
  std::atomic<bool> finite = true;
  parallel_blocks(size, kBlock, [&](index begin, index end) {
    if (!move(end - begin, decay, rate, direction + begin, p.momentum + begin, p.weight + begin)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

index muon_workspace(index rows, index cols) {
  const index n = std::min(rows, cols);
  return 2 * rows * cols + 4 * n * n;
}

double muon_flops(index rows, index cols) {
  const auto n = static_cast<double>(std::min(rows, cols)), m = static_cast<double>(std::max(rows, cols));
  double flops = 0;
  for (const int iterations : iteration_groups(rows, cols)) {
    flops += 3 * n * n * m + (iterations + 3 * (iterations - 1)) * n * n * n;
  }
  return flops;
}

template bool muon<float>(const Muon<float>&);
template bool muon<double>(const Muon<double>&);

}  // namespace dikkat::kernels
