#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

namespace dikkat {

/// Extents of a contiguous row-major array, rank 0 (a scalar) to 8.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  /// Far more than memory can hold. Byte counts of any element type do not overflow.
  static constexpr index kMaxElements = index{1} << 56;

  constexpr Shape() = default;
  /// Throws Error for a rank above 8, a negative extent, or more than kMaxElements elements (counted as if
  /// extents of 0 were 1).
  constexpr Shape(std::initializer_list<index> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  constexpr explicit Shape(std::span<const index> extents) {
    require(extents.size() <= kMaxRank, "shape: rank ", extents.size(), ", expected at most ", kMaxRank);
    for (const index extent : extents) {
      extents_[static_cast<std::size_t>(rank_++)] = extent;
    }
    count();
  }

  constexpr int rank() const { return rank_; }
  /// Returns the number of elements; 1 for a scalar.
  constexpr index size() const { return size_; }
  /// Returns the extent of an axis; negative axes count from the end.
  constexpr index operator[](int axis) const { return extents_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  /// Returns all rank() extents.
  constexpr std::span<const index> extents() const { return std::span(extents_).first(static_cast<std::size_t>(rank_)); }
  /// Returns the last extent, or 1 for a scalar.
  constexpr index cols() const { return rank_ == 0 ? 1 : (*this)[-1]; }
  /// Returns size() / cols(): the rows of the array seen as a matrix of cols() columns.
  constexpr index rows() const { return cols() == 0 ? 0 : size_ / cols(); }
  /// Returns this shape with another last extent.
  constexpr Shape with_cols(index cols) const {
    Shape other;
    other.rank_ = rank_ == 0 ? 1 : rank_;
    for (int axis = 0; axis < other.rank_; ++axis) {
      other.extents_[static_cast<std::size_t>(axis)] = axis == other.rank_ - 1 ? cols : (*this)[axis];
    }
    other.count();
    return other;
  }

  constexpr bool operator==(const Shape&) const = default;

 private:
  constexpr void count() {
    index most = 1;
    for (int axis = 0; axis < rank_; ++axis) {
      const index extent = (*this)[axis];
      require(extent >= 0, "shape: extent ", extent, ", expected 0 or more");
      require(extent == 0 || most <= kMaxElements / extent, "shape: too many elements, expected at most 2^56");
      most *= extent == 0 ? 1 : extent;
      size_ *= extent;
    }
  }

  std::array<index, kMaxRank> extents_{};
  int rank_ = 0;
  index size_ = 1;
};

inline void append_to(std::string& out, const Shape& shape) {
  out += '[';
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) {
      out += ", ";
    }
    append_to(out, shape[axis]);
  }
  out += ']';
}

}  // namespace dikkat
