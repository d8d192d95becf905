#pragma once

#include <array>
#include <cstddef>

#include "autograd/base/shape.h"

namespace dikkat::kernels {

/// Some axes of an array as one loop, in row-major order.
class AxisLoop {
 public:
  /// Adds an axis of an array before those so far: call it from the last axis to the first. `step`: elements from one index to the next.
  void add_outer(index extent, index step) {
    extents_[static_cast<std::size_t>(count_)] = extent;
    steps_[static_cast<std::size_t>(count_++)] = step;
    size_ *= extent;
  }
  index size() const { return size_; }
  int axes() const { return count_; }
  /// Returns the elements from one index of the inner axis to the next.
  index inner_step() const { return steps_[0]; }
  /// Returns the element at index i of the loop.
  index at(index i) const {
    index place = 0;
    for (int k = 0; k + 1 < count_; ++k) {
      const auto axis = static_cast<std::size_t>(k);
      place += i % extents_[axis] * steps_[axis];
      i /= extents_[axis];
    }
    return count_ == 0 ? 0 : place + i * steps_[static_cast<std::size_t>(count_ - 1)];
  }

 private:
  std::array<index, Shape::kMaxRank> extents_{}, steps_{};  // the inner axis is at 0
  int count_ = 0;
  index size_ = 1;
};

/// An array whose elements along some axes are reduced to one result. It consists of contiguous rows. Row (k, r) begins at element
/// kept.at(k) + reduced.at(r), and row i in memory at element i * width.
///
/// Adjacent axes of one kind are joined. If the last axis is reduced, a row belongs to one result, k. Otherwise its elements are parts of
/// the results k * width, k * width + 1, and so on.
struct ReducedArray {
  AxisLoop kept, reduced;  // the axes before the last one
  AxisLoop result_of;      // all axes before the last one: from a row, as they lie in memory, to k
  index width = 1;         // elements of a row
  bool rows_are_reduced = false;

  index rows() const { return kept.size() * reduced.size(); }
  index results() const { return kept.size() * (rows_are_reduced ? 1 : width); }
  /// Returns the number of elements that a result is made of.
  index terms() const { return reduced.size() * (rows_are_reduced ? width : 1); }
  index size() const { return rows() * width; }
};

/// The set of axes that are reduced: bit k stands for axis k.
using AxisSet = unsigned;

inline ReducedArray reduced_array(const Shape& shape, AxisSet reduced) {
  // Join the axes, from the last to the first.
  struct Group {
    index extent;
    bool is_reduced;
  };
  std::array<Group, Shape::kMaxRank + 1> groups{};
  std::size_t count = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const bool is_reduced = (reduced >> axis & 1U) != 0;
    if (shape[axis] == 1) {
      continue;
    }
    if (count > 0 && groups[count - 1].is_reduced == is_reduced) {
      groups[count - 1].extent *= shape[axis];
    } else {
      groups[count++] = {shape[axis], is_reduced};
    }
  }
  ReducedArray array;
  if (count == 0) {
    return array;
  }
  // The last group is a row, and the others are loops over rows.
  array.width = groups[0].extent;
  array.rows_are_reduced = groups[0].is_reduced;
  index step = array.width, results = 1;
  for (std::size_t i = 1; i < count; ++i) {
    const auto [extent, is_reduced] = groups[i];
    (is_reduced ? array.reduced : array.kept).add_outer(extent, step);
    array.result_of.add_outer(extent, is_reduced ? 0 : results);
    step *= extent;
    results *= is_reduced ? 1 : extent;
  }
  return array;
}

}  // namespace dikkat::kernels
