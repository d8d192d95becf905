#pragma once

#include <array>

#include "autograd/base/grad_out.h"
#include "autograd/base/shape.h"

namespace dikkat::kernels {

/// Copies an array between any two layouts: to[sum of i_k to_strides[k]] = from[sum of i_k from_strides[k]] for all indices i below
/// `shape`. Strides are in elements; those of `from` may be 0 or negative, and no two indices may have the same place in `to`.
template <class T>
struct StridedCopy {
  using Strides = std::array<index, Shape::kMaxRank>;

  Shape shape{};
  const T* from = nullptr;
  Strides from_strides{};
  GradOut<T> to{};
  Strides to_strides{};
};
template <class T>
void strided_copy(const StridedCopy<T>& p);

/// Returns the strides of a contiguous array.
inline std::array<index, Shape::kMaxRank> contiguous_strides(const Shape& shape) {
  std::array<index, Shape::kMaxRank> strides{};
  index step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace dikkat::kernels
