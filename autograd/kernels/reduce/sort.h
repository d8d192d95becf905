#pragma once

#include <cstdint>

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// The order of elements along the middle axis of x (outer, extent, inner). indices (outer, count, inner) are those of the first `count`
/// elements in ascending or descending order. Equal elements stay in their order, and NaNs are last. -0 equals 0.
template <class T>
struct Order {
  index outer = 0, extent = 0, inner = 0;  // extent <= 2^31
  index count = 0;                         // at most extent
  bool descending = false;
  const T* x = nullptr;
  std::int32_t* indices = nullptr;
};
template <class T>
void order(const Order<T>& p);

}  // namespace dikkat::kernels
