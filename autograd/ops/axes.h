#pragma once

#include <array>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// Axis indices from 0, and shapes with other extents, for ops. This header is private to the folder.

/// Throws Error, which names `op`, unless the axis is one of the shape's.
inline int checked_axis(const char* op, const Shape& shape, int axis) {
  const int counted = axis < 0 ? axis + shape.rank() : axis;
  require(0 <= counted && counted < shape.rank(), op, ": axis ", axis, " of ", shape, ", expected one of its ", shape.rank());
  return counted;
}

inline Shape with_extent(const Shape& shape, int axis, index extent) {
  std::array<index, Shape::kMaxRank> extents{};
  for (int k = 0; k < shape.rank(); ++k) {
    extents[static_cast<std::size_t>(k)] = k == axis ? extent : shape[k];
  }
  return Shape(std::span(extents).first(static_cast<std::size_t>(shape.rank())));
}

/// Returns the shape without the axis.
inline Shape without_axis(const Shape& shape, int axis) {
  std::array<index, Shape::kMaxRank> extents{};
  std::size_t count = 0;
  for (int k = 0; k < shape.rank(); ++k) {
    if (k != axis) {
      extents[count++] = shape[k];
    }
  }
  return Shape(std::span(extents).first(count));
}

/// Returns the shape with another axis before axis `axis`, or at the end.
inline Shape with_axis(const char* op, const Shape& shape, int axis, index extent) {
  require(shape.rank() < Shape::kMaxRank, op, ": ", shape, " has ", shape.rank(),
          " axes, and the result would have one more, expected at most ", Shape::kMaxRank);
  std::array<index, Shape::kMaxRank> extents{};
  for (int k = 0; k <= shape.rank(); ++k) {
    extents[static_cast<std::size_t>(k)] = k < axis ? shape[k] : k == axis ? extent : shape[k - 1];
  }
  return Shape(std::span(extents).first(static_cast<std::size_t>(shape.rank() + 1)));
}

}  // namespace dikkat
