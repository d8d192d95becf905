#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// y[i] = x[0] + ... + x[i] along the middle axis of an array (rows, cols, inner); backward, y[i] = x[i] + ... + x[cols - 1]. Sums are f64.
template <class T>
struct CumulativeSum {
  index rows = 0, cols = 0, inner = 1;
  bool backward = false;
  const T* x = nullptr;
  GradOut<T> y{};
};
template <class T>
void cumulative_sum(const CumulativeSum<T>& p);

}  // namespace dikkat::kernels
