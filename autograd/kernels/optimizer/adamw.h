#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// One step of AdamW (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2) on n elements:
///   g = gradient_scale * gradient,  m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///   weight = weight (1 - learning_rate weight_decay) - learning_rate m_hat / (sqrt(v_hat) + eps),
/// with m_hat = m / (1 - beta1^step) and v_hat = v / (1 - beta2^step). Steps count from 1. Cautious weight decay applies only to weights
/// that the update moves towards 0, where m * weight >= 0 (Chen et al., arXiv 2510.12402).
template <class T>
struct AdamW {
  index n = 0;
  T* weight = nullptr;          // (n)
  const T* gradient = nullptr;  // (n)
  T* m = nullptr;               // (n)
  T* v = nullptr;               // (n)
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  double gradient_scale = 1;
  index step = 1;
  bool cautious = false;
};
/// Returns whether all weights and moments are finite afterwards. (A second moment that overflows stops its weight for good, and nothing
/// else would show it.)
template <class T>
bool adamw(const AdamW<T>& p);

/// Returns the sum of the squares of n numbers, in f64. The order of the additions does not depend on the number of threads.
template <class T>
double sum_of_squares(index n, const T* x);
/// Does what sum_of_squares() does, but only on the calling thread.
template <class T>
double sum_of_squares_here(index n, const T* x);

}  // namespace dikkat::kernels
