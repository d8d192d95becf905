#include "autograd/kernels/muon.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/kernels/adamw.h"
#include "autograd/kernels/gemm.h"
#include "autograd/kernels/magnitude.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements
constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

/// Our own f32 product leaves out what lies above the diagonal, and is the fastest for matrices that stay in a core's cache.
void multiply(const Gemm<float>& p) { gemm_by(GemmLibrary::packed, p); }
void multiply(const Gemm<double>& p) { gemm(p); }

/// Calls f(i, j, end) for pieces of the rows of a symmetric matrix (n, n) that make up what lies on and below its diagonal: row i, columns
/// j to end - 1. Pieces of the same tile follow each other, so that their mirror image stays in L1.
template <class F>
void for_each_below(index n, F&& f) {
  constexpr index kTile = 32;
  parallel_for_uneven(
      ceil_div(n, kTile), Work::elements(n * n), [] {},
      [&](index tile) {
        const index first = tile * kTile;
        for (index j = 0; j <= first; j += kTile) {
          for (index i = first; i < std::min(first + kTile, n); ++i) {
            f(i, j, std::min(j + kTile, i + 1));
          }
        }
      });
}

/// X (rows, cols) = its orthogonalisation. With more rows than columns A is X^T X, and products are from the other side: that is the same
/// as transposing X before and afterwards.
template <class T>
T* orthogonalise(index rows, index cols, T* x, T* other, T* a, T* b) {
  const bool tall = rows > cols;
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  for (int i = 0; i < kIterations; ++i) {
    multiply({.m = n,
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
    for_each_below(n, [&](index row, index begin, index end) {
      for (index col = begin; col < end; ++col) {
        a[col * n + row] = a[row * n + col];
      }
    });
    multiply({.m = n, .n = n, .k = n, .a = a, .lda = n, .b = a, .ldb = n, .c = b, .ldc = n, .lower = true});
    for_each_below(n, [&](index row, index begin, index end) {  // B = a I + b A + c A^2
      for (index col = begin; col < end; ++col) {
        const T value = static_cast<T>(kB) * a[row * n + col] + static_cast<T>(kC) * b[row * n + col];
        b[row * n + col] = value;
        b[col * n + row] = value;
      }
      if (end == row + 1) {
        b[row * n + row] += static_cast<T>(kA);
      }
    });
    if (tall) {
      multiply({.m = rows, .n = n, .k = n, .a = x, .lda = cols, .b = b, .ldb = n, .c = other, .ldc = cols});
    } else {
      multiply({.m = n, .n = cols, .k = n, .a = b, .lda = n, .b = x, .ldb = cols, .c = other, .ldc = cols});
    }
    std::swap(x, other);
  }
  return x;
}

// Functions of their own, their pointers and constants being arguments: only so does gcc see that nothing overlaps, and use vectors.

template <class T>
void accumulate(index n, T scale, T beta, T rest, const T* __restrict gradient, T* __restrict momentum, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    const T g = scale * gradient[i];
    momentum[i] = beta * momentum[i] + rest * g;
    x[i] = beta * momentum[i] + rest * g;
  }
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
  const index n = std::min(p.rows, p.cols);
  T* const x = p.workspace;
  T* const other = x + size;
  T* const a = other + size;
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
  const T* const direction = orthogonalise(p.rows, p.cols, x, other, a, a + n * n);

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
  return 2 * rows * cols + 2 * n * n;
}

double muon_flops(index rows, index cols) {
  const auto n = static_cast<double>(std::min(rows, cols)), m = static_cast<double>(std::max(rows, cols));
  return kIterations * (n * n * m + n * n * n + 2 * n * n * m);
}

template bool muon<float>(const Muon<float>&);
template bool muon<double>(const Muon<double>&);

}  // namespace dikkat::kernels
