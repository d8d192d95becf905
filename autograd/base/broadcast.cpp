#include "autograd/base/broadcast.h"

#include <algorithm>

namespace dikkat {

Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<index, Shape::kMaxRank> extents{};
  for (int axis = 1; axis <= rank; ++axis) {  // axes count from the last one
    const index of_a = axis <= a.rank() ? a[-axis] : 1, of_b = axis <= b.rank() ? b[-axis] : 1;
    require(of_a == of_b || of_a == 1 || of_b == 1, op, ": shapes ", a, " and ", b,
            " do not fit, expected extents that are equal or 1, counted from the last axis");
    extents[static_cast<std::size_t>(rank - axis)] = of_a == 1 ? of_b : of_a;
  }
  return Shape(std::span(extents).first(static_cast<std::size_t>(rank)));
}

Broadcast::Broadcast(const char* op, std::span<const Shape> shapes, const Shape& also) : arrays_(static_cast<int>(shapes.size())) {
  require(!shapes.empty() && shapes.size() <= kMostArrays, op, ": ", shapes.size(), " tensors, expected 1 to ", kMostArrays);
  shape_ = shapes.front();
  // Arrays of one shape have one joined axis.
  bool all_equal = also.rank() == 0 || also == shape_;
  for (const Shape& shape : shapes.subspan(1)) {
    all_equal = all_equal && shape == shape_;
  }
  if (all_equal) {
    extents_[0] = shape_.size();
    whole_strides_[0] = 1;
    for (int array = 0; array < arrays_; ++array) {
      strides_[static_cast<std::size_t>(array)][0] = 1;
    }
    return;
  }
  // Find the common shape.
  for (const Shape& shape : shapes.subspan(1)) {
    shape_ = broadcast_shape(op, shape_, shape);
  }
  shape_ = broadcast_shape(op, shape_, also);

  // Build the joined axes from the last to the first: at first reversed, the inner one at 0.
  std::array<index, kMostArrays> next{};  // elements of each array in the axes so far
  next.fill(1);
  index whole = 1;
  int count = 0;
  for (int axis = 1; axis <= shape_.rank(); ++axis) {
    const index extent = shape_[-axis];
    if (extent == 1) {
      continue;
    }
    // Find the arrays' steps along the axis, and whether it joins the axis inside it.
    std::array<index, kMostArrays> steps{};
    bool joins = count > 0;
    const auto inner = static_cast<std::size_t>(count == 0 ? 0 : count - 1);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const index own = axis <= shapes[i].rank() ? shapes[i][-axis] : 1;
      steps[i] = own == 1 ? 0 : next[i];
      next[i] *= own;
      joins = joins && steps[i] == strides_[i][inner] * extents_[inner];
    }
    if (joins) {
      extents_[inner] *= extent;
    } else {
      const auto at = static_cast<std::size_t>(count++);
      extents_[at] = extent;
      whole_strides_[at] = whole;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        strides_[i][at] = steps[i];
      }
    }
    whole *= extent;
  }
  if (count == 0) {  // scalars
    extents_[0] = 1;
    whole_strides_[0] = 1;
    count = 1;
  }
  // Put the axes into their order.
  axes_ = count;
  std::reverse(extents_.begin(), extents_.begin() + count);
  std::reverse(whole_strides_.begin(), whole_strides_.begin() + count);
  for (auto& strides : strides_) {
    std::reverse(strides.begin(), strides.begin() + count);
  }
}

bool Broadcast::repeats(int array) const {
  for (int axis = 0; axis < axes_; ++axis) {
    if (stride(array, axis) == 0 && extent(axis) != 1) {
      return true;
    }
  }
  return false;
}

bool Broadcast::are_alike(int one, int other) const {
  for (int axis = 0; axis < axes_; ++axis) {
    if ((stride(one, axis) == 0) != (stride(other, axis) == 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace dikkat
