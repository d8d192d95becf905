#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

namespace dikkat::kernels {

/// Element i becomes x[i] / (1 - probability), or 0 with that probability, decided by word first + i of the stream.
struct Dropping {
  double probability = 0;
  RandomStream stream{};
  index first = 0;  // index of element 0 in the step's whole batch
};

/// Returns the threshold: an element is dropped if its word is below it.
constexpr std::uint64_t dropout_threshold(double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); }

/// Computes elements begin to end - 1 on this thread; `x` and `y` point to element 0. Backward is the same function, applied to dy. With
/// probability 0, y is x.
template <class X, class Y>
void drop(const Dropping& dropping, index begin, index end, const X* x, GradOut<Y> y) noexcept;

}  // namespace dikkat::kernels
