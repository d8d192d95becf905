#include "autograd/kernels/optimizer/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/bf16_operands.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/transpose_block.h"
#include "autograd/kernels/optimizer/adamw.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements
constexpr index kLines = 16;       // rows of a tile

/// Calls f(steps of a group) for the groups that are computed from one Gram matrix each, of about the same size, the larger ones first.
/// Products with rounded operands allow no groups. Within one, A' = p A p would have to stay symmetric and without negative eigenvalues.
/// Rounded factors do not commute, so it does neither, and the polynomials multiply a small negative eigenvalue without limit.
template <class F>
void for_groups(const NewtonSchulz& how, index rows, index cols, F&& f) {
  const bool is_long = std::max(rows, cols) >= 2 * std::min(rows, cols);
  const auto count = std::ssize(how.steps);
  const index groups = ceil_div(count, is_long && !how.bf16 ? how.largest_group : 1);
  index done = 0;
  for (index group = 0; group < groups; ++group) {
    const index size = ceil_div(count - done, groups - group);
    f(how.steps.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(size)));
    done += size;
  }
}

// Separate functions with __restrict arguments: only then does gcc know that nothing overlaps, and vectorize the loops.

template <class T>
void scale(index n, T factor, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

template <class T>
void scale(index n, T factor, const T* __restrict factors, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    x[i] *= factor * factors[i];
  }
}

template <class T>
void combine(index n, T b, const T* __restrict a, T c, T* __restrict to) {
  for (index i = 0; i < n; ++i) {
    to[i] = b * a[i] + c * to[i];
  }
}

/// C = A B in the precision that `how` asks for.
template <class T>
void multiply(const NewtonSchulz& how, const Gemm<T>& p) {
  if constexpr (std::is_same_v<T, float>) {
    if (how.bf16) {
      gemm(with_bf16_operands(p));
      return;
    }
  }
  gemm<T>(p);
}

/// Writes the mirror image of C (rows from i, columns from j), which is on or below the diagonal of a symmetric matrix with rows ld apart.
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

/// Completes a symmetric matrix C (n, n) whose part above the diagonal is missing, after calling change(row, begin, end) for each piece of
/// a row of the rest.
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

/// to (n, n) = A B on and below the diagonal. A and B are polynomials of one matrix, so the product is symmetric. With rounded operands
/// that holds only if A and B are the same matrix.
template <class T>
void multiply_symmetric(const NewtonSchulz& how, index n, const T* a, const T* b, T* to) {
  multiply<T>(how, {.m = n, .n = n, .k = n, .a = a, .lda = n, .b = b, .ldb = n, .c = to, .ldc = n, .lower = true});
}

/// to (n, n) = a I + b A + c A^2.
template <class T>
void polynomial(const NewtonSchulz& how, const NewtonSchulz::Step& step, index n, const T* a, T* to) {
  multiply_symmetric(how, n, a, a, to);
  complete(n, to, [&](index row, index begin, index end) {
    combine(end - begin, static_cast<T>(step.b), a + row * n + begin, static_cast<T>(step.c), to + row * n + begin);
    if (end == row + 1) {
      to[row * n + row] += static_cast<T>(step.a);
    }
  });
}

/// Divides the short dimension of X as NewtonSchulz::balanced describes, and its Gram matrix A (n, n) accordingly. factors: (n).
template <class T>
void balance(index rows, index cols, T* x, T* a, T* factors) {
  constexpr double kLeast = 1e-14;  // a row with a smaller sum is only rounding error compared with the others
  const index n = std::min(rows, cols);
  parallel_blocks(n, kLines, Work::elements(n * n), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      double sum = 0;
      for (index j = 0; j < n; ++j) {
        sum += std::abs(static_cast<double>(a[i * n + j]));
      }
      factors[i] = static_cast<T>(1 / std::sqrt(std::max(sum, kLeast)));
    }
  });
  parallel_blocks(n, kLines, Work::elements(n * n), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      scale(n, factors[i], factors, a + i * n);
    }
  });
  parallel_blocks(rows, kLines, Work::elements(rows * cols), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      if (rows > cols) {
        scale(cols, T{1}, factors, x + i * cols);
      } else {
        scale(cols, factors[i], x + i * cols);
      }
    }
  });
}

}  // namespace

// Iterations that share one Gram matrix A = X X^T multiply X only at the end: if X' = p X, where p = a I + b A + c A^2, then
// X' X'^T = p A p. With more rows than columns, A is X^T X and products are from the other side, which equals transposing X before and
// afterwards.
template <class T>
T* orthogonalise(const NewtonSchulz& how, index rows, index cols, T* x, T* other, T* workspace) {
  const index size = rows * cols;
  const auto inverse = static_cast<T>(1 / (how.norm_factor * std::sqrt(sum_of_squares(size, x)) + how.norm_rest));
  parallel_blocks(size, kBlock, [&](index begin, index end) { scale(end - begin, inverse, x + begin); });

  // The workspace holds the Gram matrix, one step's polynomial, the group's polynomial, and a matrix for intermediate products.
  const bool tall = rows > cols;
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  T* a = workspace;
  T* p = a + n * n;
  T* product = p + n * n;  // product of this group's polynomials
  T* next = product + n * n;
  T* const factors = next + n * n;
  bool is_balanced = !how.balanced;
  for_groups(how, rows, cols, [&](std::span<const NewtonSchulz::Step> steps) {
    // Compute the Gram matrix of the current X.
    multiply<T>(how, {.m = n,
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
    if (!std::exchange(is_balanced, true)) {
      balance(rows, cols, x, a, factors);
    }
    // Multiply the polynomials of the group's steps.
    for (const NewtonSchulz::Step& step : steps) {
      polynomial(how, step, n, a, p);
      if (&step != &steps.back()) {  // A = p A p
        multiply_symmetric(how, n, a, p, next);
        complete(n, next);
        multiply_symmetric(how, n, next, p, a);
        complete(n, a);
      }
      if (&step == &steps.front()) {
        std::swap(p, product);
      } else {
        multiply_symmetric(how, n, product, p, next);
        complete(n, next);
        std::swap(product, next);
      }
    }
    // Multiply X by that product.
    if (tall) {
      multiply<T>(how, {.m = rows, .n = n, .k = n, .a = x, .lda = cols, .b = product, .ldb = n, .c = other, .ldc = cols});
    } else {
      multiply<T>(how, {.m = n, .n = cols, .k = n, .a = product, .lda = n, .b = x, .ldb = cols, .c = other, .ldc = cols});
    }
    std::swap(x, other);
  });
  return x;
}

index newton_schulz_workspace(index rows, index cols) {
  const index n = std::min(rows, cols);
  return 4 * n * n + n;
}

double newton_schulz_flops(const NewtonSchulz& how, index rows, index cols) {
  const auto n = static_cast<double>(std::min(rows, cols)), m = static_cast<double>(std::max(rows, cols));
  double flops = 0;
  for_groups(how, rows, cols, [&](std::span<const NewtonSchulz::Step> steps) {
    const auto count = static_cast<double>(steps.size());
    flops += 3 * n * n * m + (count + 3 * (count - 1)) * n * n * n;
  });
  return flops;
}

template float* orthogonalise<float>(const NewtonSchulz&, index, index, float*, float*, float*);
template double* orthogonalise<double>(const NewtonSchulz&, index, index, double*, double*, double*);

}  // namespace dikkat::kernels
