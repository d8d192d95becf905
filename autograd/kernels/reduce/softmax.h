#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// y = e^x / sum e^x, or its logarithm, along the axis of `cols` numbers of an array (rows, cols, inner). Computed in f32 for bf16.
template <class T>
struct Softmax {
  index rows = 0, cols = 0;
  index inner = 1;  // elements from one number of an axis to the next
  bool log = false;
  const T* x = nullptr;   // (rows, cols, inner), forward only
  T* y = nullptr;         // as x, written forward and read backward
  const T* dy = nullptr;  // as x, backward only
  GradOut<T> dx{};        // as x, backward only
};
template <class T>
void softmax_forward(const Softmax<T>& p);
/// Let f = <dy, y>. Writes df/dx = y (dy - sum dy y), or dy - e^y sum dy for logarithms; the sums are those of the axis.
template <class T>
void softmax_backward(const Softmax<T>& p);

}  // namespace dikkat::kernels
