#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// How far the squares of a matrix's singular values are from 1: X X^T - I, or X^T X - I with more rows than columns.
struct Orthogonality {
  double rms = 0;      // |X X^T - I| / sqrt(n), the root of the mean of their squares
  double largest = 0;  // to some percent
};

/// Of X (rows, cols), contiguous, in f64. Takes n^2 (rows + cols) operations, for benchmarks and tests.
Orthogonality orthogonality(index rows, index cols, const float* x);

}  // namespace dikkat
