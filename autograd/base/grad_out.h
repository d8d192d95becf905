#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// Where a kernel writes a gradient: nowhere (null), or over what lies there, or added to it. The first writer of a
/// backward pass overwrites and later ones add, so nothing is ever zeroed.
template <class T>
struct GradOut {
  T* data = nullptr;
  bool add = false;

  explicit operator bool() const { return data != nullptr; }
  void put(index at, T value) const { data[at] = add ? data[at] + value : value; }
};

}  // namespace dikkat
