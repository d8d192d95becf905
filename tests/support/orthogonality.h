#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::testing {

/// The distances of a matrix's squared singular values from 1: norms of X X^T - I (X^T X - I with more rows than columns).
struct Orthogonality {
  double rms = 0;      // |X X^T - I| / sqrt(n), the root of the mean of the squared distances
  double largest = 0;  // the largest distance, to some percent
};

/// Measures X (rows, cols), contiguous, in f64. Takes n^2 (rows + cols) operations.
inline Orthogonality orthogonality(index rows, index cols, const float* x) {
  const bool tall = rows > cols;
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  // Compute X X^T.
  const std::vector<double> wide(x, x + rows * cols);
  std::vector<double> rest(static_cast<std::size_t>(n * n));
  kernels::gemm<double>({.m = n,
                         .n = n,
                         .k = m,
                         .a = wide.data(),
                         .lda = cols,
                         .transpose_a = tall,
                         .b = wide.data(),
                         .ldb = cols,
                         .transpose_b = !tall,
                         .c = rest.data(),
                         .ldc = n});
  // Subtract I, and take the norm of the rest.
  double squares = 0;
  for (index i = 0; i < n; ++i) {
    rest[static_cast<std::size_t>(i * n + i)] -= 1;
  }
  for (const double value : rest) {
    squares += value * value;
  }
  // Estimate the largest eigenvalue by power iteration: the factor by which the symmetric matrix stretches a vector tends to it.
  constexpr int kIterations = 100;
  std::vector<double> v(static_cast<std::size_t>(n)), product(v.size());
  for (index i = 0; i < n; ++i) {
    v[static_cast<std::size_t>(i)] = std::cos(static_cast<double>(i * i));
  }
  double largest = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    double length = 0;
    for (const double value : v) {
      length += value * value;
    }
    length = std::sqrt(length);
    if (length == 0) {
      break;
    }
    for (double& value : v) {
      value /= length;
    }
    largest = iteration == 0 ? 0 : length;
    // Multiply the normalized vector by the matrix.
    for (index i = 0; i < n; ++i) {
      double sum = 0;
      for (index j = 0; j < n; ++j) {
        sum += rest[static_cast<std::size_t>(i * n + j)] * v[static_cast<std::size_t>(j)];
      }
      product[static_cast<std::size_t>(i)] = sum;
    }
    std::swap(v, product);
  }
  return {.rms = std::sqrt(squares / static_cast<double>(n)), .largest = largest};
}

}  // namespace dikkat::testing
