#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// Row i costs weight[i] * (log sum_v e^logits[i, v] - logits[i, target[i]]) / normaliser. A row of weight 0 is not looked at.
template <class T>
struct CrossEntropy {
  index rows = 0, cols = 0;
  const T* logits = nullptr;              // (rows, cols)
  const std::int32_t* targets = nullptr;  // (rows), each in [0, cols)
  const float* weights = nullptr;         // (rows), or null: 1 each
  double normaliser = 1;
  T* log_sum_exp = nullptr;  // (rows): saved forward, read backward
  T* losses = nullptr;       // (rows), forward only
  T dloss{};                 // backward only: derivative with respect to the sum of all rows' costs
  GradOut<T> dlogits{};      // (rows, cols), backward only
};
/// Writes the rows' costs and their log-sum-exps.
template <class T>
void cross_entropy_forward(const CrossEntropy<T>& p) noexcept;
/// dlogits = dloss * weight / normaliser * (softmax - one at the target).
template <class T>
void cross_entropy_backward(const CrossEntropy<T>& p) noexcept;

}  // namespace dikkat::kernels
