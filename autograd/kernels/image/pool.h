#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/kernels/attention/window.h"

namespace dikkat::kernels {

/// Each window of a plane becomes one number. Windows have no dilation, and their padding is at most half of them.
template <class T>
struct Pool {
  index planes = 0;  // images times channels
  Window height, width;
  const T* x = nullptr;               // (planes, height, width), forward only
  T* y = nullptr;                     // (planes, rows and columns of windows), forward only
  std::int32_t* positions = nullptr;  // as y: places of the maxima in their planes; may be null forward
  const T* dy = nullptr;              // as y, backward only
  GradOut<T> dx{};                    // as x, backward only
  bool counts_padding = true;         // a mean counts padding as zeros; otherwise it is that of the elements
};

/// y = the largest element, or NaN if there is one. Its position is that of the first such element.
template <class T>
void max_pool_forward(const Pool<T>& p);
/// Let f = <dy, y>. Writes df/dx: dy goes to the elements at `positions`.
template <class T>
void max_pool_backward(const Pool<T>& p);

/// y = the mean.
template <class T>
void avg_pool_forward(const Pool<T>& p);
/// Let f = <dy, y>. Writes df/dx.
template <class T>
void avg_pool_backward(const Pool<T>& p);

}  // namespace dikkat::kernels
