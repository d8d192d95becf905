#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// Let nll[i, v] = log sum_u e^logits[i, u] - logits[i, v]. Row i costs
///   weight[i] * ((1 - label_smoothing) * nll[i, target[i]] + label_smoothing * mean_v nll[i, v]) / normalizer.
/// A share of each target is spread evenly over all classes, the right one included (Szegedy et al., arXiv 1512.00567, section 7). A row of
/// weight 0 is not read.
template <class T>
struct CrossEntropy {
  index rows = 0, cols = 0;
  const T* logits = nullptr;              // (rows, cols)
  const std::int32_t* targets = nullptr;  // (rows), each in [0, cols)
  const float* weights = nullptr;         // (rows), or null: 1 each
  double normalizer = 1;
  double label_smoothing = 0;  // in [0, 1)
  T* tops = nullptr;           // (rows): the largest logit; saved forward, read backward
  T* sums = nullptr;           // (rows): sum of e^(logit - top); saved forward, read backward
  T* losses = nullptr;         // (rows), forward only
  T dloss{};                   // backward only: derivative with respect to the sum of all rows' costs
  GradOut<T> dlogits{};        // (rows, cols), backward only
};
/// Writes the rows' costs, tops and sums.
template <class T>
void cross_entropy_forward(const CrossEntropy<T>& p);
/// dlogits = dloss * weight / normalizer * (softmax[v] - label_smoothing / cols - (v == target) * (1 - label_smoothing)).
template <class T>
void cross_entropy_backward(const CrossEntropy<T>& p);

}  // namespace dikkat::kernels
