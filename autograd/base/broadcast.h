#pragma once

#include <array>
#include <span>

#include "autograd/base/shape.h"

namespace dikkat {

/// Views arrays of different shapes as one array of a common shape, by NumPy's rules. Shapes are aligned at their last axes, and an array
/// repeats along an axis that it lacks or in which its extent is 1.
///
/// Adjacent axes that all arrays treat alike are joined, so that loops are few and long. The last joined axis is the inner one: each array
/// is contiguous along it or repeats along it.
class Broadcast {
 public:
  static constexpr int kMostArrays = 8;
  static constexpr int kMostAxes = Shape::kMaxRank;

  /// Repeats the arrays to the common shape of all of them and `also`. Throws Error, which names `op`, for 0 arrays or more than
  /// kMostArrays, and for shapes that do not fit.
  Broadcast(const char* op, std::span<const Shape> shapes, const Shape& also = {});

  /// Returns the common shape.
  const Shape& shape() const { return shape_; }
  int arrays() const { return arrays_; }
  /// Returns the number of joined axes, at least 1.
  int axes() const { return axes_; }
  index extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  /// Returns the elements from one index of a joined axis to the next; 0 where the array repeats.
  index stride(int array, int axis) const { return strides_[static_cast<std::size_t>(array)][static_cast<std::size_t>(axis)]; }
  /// Returns the stride of a contiguous array of the common shape.
  index whole_stride(int axis) const { return whole_strides_[static_cast<std::size_t>(axis)]; }
  /// Returns the extent of the inner axis.
  index inner() const { return extent(axes_ - 1); }
  /// Returns whether the array repeats along some axis.
  bool repeats(int array) const;
  /// Returns whether two arrays repeat along the same axes.
  bool are_alike(int one, int other) const;

 private:
  Shape shape_;
  int arrays_ = 0;
  int axes_ = 1;
  std::array<index, kMostAxes> extents_{}, whole_strides_{};
  std::array<std::array<index, kMostAxes>, kMostArrays> strides_{};
};

/// Returns the common shape of two shapes. Throws Error, which names `op`, if they do not fit.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

}  // namespace dikkat
