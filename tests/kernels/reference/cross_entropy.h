#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/kernels/loss/cross_entropy.h"

namespace dikkat::kernels::reference {

/// The reference for kernels::cross_entropy_forward, by plain loops.
template <class T>
void cross_entropy_forward(const CrossEntropy<T>& p) {
  for (index row = 0; row < p.rows; ++row) {
    const double weight = p.weights != nullptr ? static_cast<double>(p.weights[row]) : 1.0;
    p.losses[row] = p.tops[row] = 0;
    p.sums[row] = 1;
    if (weight == 0) {
      continue;
    }
    const T* x = p.logits + row * p.cols;
    const T top = *std::max_element(x, x + p.cols);
    T total = 0;
    for (index i = 0; i < p.cols; ++i) {
      total += std::exp(x[i] - top);
    }
    p.tops[row] = top;
    p.sums[row] = total;
    const T log_sum = std::log(total);
    T mean = 0;
    for (index i = 0; i < p.cols; ++i) {
      mean += (log_sum + (top - x[i])) / static_cast<T>(p.cols);
    }
    const T smoothing = static_cast<T>(p.label_smoothing);
    const T cost = (1 - smoothing) * (log_sum + (top - x[p.targets[row]])) + (smoothing == 0 ? T(0) : smoothing * mean);
    p.losses[row] = static_cast<T>(weight / p.normalizer) * cost;
  }
}

/// The reference for kernels::cross_entropy_backward.
template <class T>
void cross_entropy_backward(const CrossEntropy<T>& p) {
  for (index row = 0; row < p.rows; ++row) {
    const double weight = p.weights != nullptr ? static_cast<double>(p.weights[row]) : 1.0;
    for (index i = 0; i < p.cols; ++i) {
      T slope = 0;
      if (weight != 0) {
        const double target = p.label_smoothing / static_cast<double>(p.cols) + (p.targets[row] == i ? 1 - p.label_smoothing : 0);
        slope = std::exp(p.logits[row * p.cols + i] - p.tops[row]) / p.sums[row] - static_cast<T>(target);
      }
      p.dlogits.put(row * p.cols + i, slope * static_cast<T>(weight / p.normalizer) * (weight != 0 ? p.dloss : T(0)));
    }
  }
}

}  // namespace dikkat::kernels::reference
