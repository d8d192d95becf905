#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/base/philox.h"

namespace dikkat::kernels {

/// Element i becomes x[i] / (1 - probability), or 0 with that probability, decided by word first + i of the stream.
struct Dropping {
  double probability = 0;
  RandomStream stream{};
  index first = 0;  // place of element 0 among the step's elements
};

/// A word below this drops its element.
constexpr std::uint64_t dropout_threshold(double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); }

/// Elements begin to end (`x` and `y` point to element 0), on this thread. Forward and backward are the same map.
template <class T>
void drop(const Dropping& dropping, index begin, index end, const T* x, GradOut<T> y) noexcept;

}  // namespace dikkat::kernels
