#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// y = e^x / sum e^x by rows.
template <class T>
struct Softmax {
  index rows = 0, cols = 0;
  const T* x = nullptr;   // (rows, cols), forward only
  T* y = nullptr;         // (rows, cols), written forward and read backward
  const T* dy = nullptr;  // (rows, cols), backward only
  GradOut<T> dx{};        // (rows, cols), backward only
};
template <class T>
void softmax_forward(const Softmax<T>& p);
/// Let f = <dy, y>. Writes df/dx = y (dy - <dy, y> of the row).
template <class T>
void softmax_backward(const Softmax<T>& p);

}  // namespace dikkat::kernels
