#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::testing {

/// How far the squares of a matrix's singular values are from 1: X X^T - I, or X^T X - I with more rows than columns.
struct Orthogonality {
  double rms = 0;      // |X X^T - I| / sqrt(n), the root of the mean of their squares
  double largest = 0;  // to some percent
};

/// Measures X (rows, cols), contiguous, in f64. Takes n^2 (rows + cols) operations.
inline Orthogonality orthogonality(index rows, index cols, const float* x) {
  const bool tall = rows > cols;
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  // Compute X X^T - I, and its norm.
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
  double squares = 0;
  for (index i = 0; i < n; ++i) {
    rest[static_cast<std::size_t>(i * n + i)] -= 1;
  }
  for (const double value : rest) {
    squares += value * value;
  }
  // Uses power iteration on the symmetric matrix: the factor by which it stretches a vector tends to its largest eigenvalue.
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
