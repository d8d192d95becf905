#pragma once

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"

namespace dikkat {

/// The place where a kernel writes a gradient. data == nullptr: nowhere. Otherwise the kernel overwrites the memory, or adds to it. The
/// first writer of a backward pass overwrites and later ones add, so gradients are never set to zero first.
template <class T>
struct GradOut {
  T* data = nullptr;
  bool add = false;

  explicit operator bool() const { return data != nullptr; }
  void put(index at, Computed<T> value) const { data[at] = to_stored<T>(add ? to_computed(data[at]) + value : value); }
  /// Does what put() does, but for a number in memory, whose bits do not change unless it is added.
  void copy(index at, T value) const { data[at] = add ? to_stored<T>(to_computed(data[at]) + to_computed(value)) : value; }
};

}  // namespace dikkat
