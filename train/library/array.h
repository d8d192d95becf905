#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "autograd/base/dtype.h"
#include "autograd/base/shape.h"

namespace dikkat {

/// The numbers of a data set, such as images (N, 28, 28) or labels (N). The first extent counts samples, which are called rows. The numbers
/// are constant, so copies and parts share them.
class Array {
 public:
  /// Makes an array of f32, f64 or i32. Throws Error unless there are shape.size() values, and for a scalar's shape.
  Array(const Shape& shape, std::vector<float> values) : Array(shape, std::make_shared<const std::vector<float>>(std::move(values))) {}
  Array(const Shape& shape, std::vector<double> values) : Array(shape, std::make_shared<const std::vector<double>>(std::move(values))) {}
  Array(const Shape& shape, std::vector<std::int32_t> values)
      : Array(shape, std::make_shared<const std::vector<std::int32_t>>(std::move(values))) {}

  const Shape& shape() const { return shape_; }
  index rows() const { return shape_[0]; }
  DType dtype() const;
  /// Returns all numbers, row-major. Throws Error if T is not the element type.
  template <class T>
  std::span<const T> values() const {
    const auto* const all = std::get_if<std::shared_ptr<const std::vector<T>>>(&values_);
    require(all != nullptr, "array: holds ", dtype(), ", asked for as ", kDType<T>);
    return std::span(**all).subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(shape_.size()));
  }

  /// Returns rows begin to begin + count - 1. Throws Error unless all exist.
  Array rows(index begin, index count) const;
  /// Returns columns begin to begin + count - 1 of a matrix (N, columns). One column has the shape (N). Throws Error unless all exist.
  Array columns(index begin, index count) const;
  Array column(index i) const;
  /// Converts the numbers to f32, f64 or i32. Rounds to f32. Throws InputError for a number that i32 cannot hold, such as 0.5.
  Array as(DType dtype) const;
  /// Returns the numbers in another shape of the same size.
  Array reshaped(const Shape& shape) const;

 private:
  using Values = std::variant<std::shared_ptr<const std::vector<float>>, std::shared_ptr<const std::vector<double>>,
                              std::shared_ptr<const std::vector<std::int32_t>>>;
  Array(const Shape& shape, Values values);

  Shape shape_;
  Values values_;
  index begin_ = 0;  // the place of the first number
};

/// Reads a NumPy file (numpy.save): f32 and f64 as they are, and integers and truth values as i32. Throws InputError, which begins with the
/// path, for a file that is damaged, has another element type or Fortran's order, or has an integer that i32 cannot hold.
Array read_npy(const std::filesystem::path& path);

/// Reads a table of numbers as f32 (rows, columns): a line for each row, with commas, semicolons, tabs or blanks between numbers. Skips
/// empty lines, and a first line that does not begin with a number, which is a heading. Throws InputError, with the path and the line, for
/// anything else.
Array read_csv(const std::filesystem::path& path);

}  // namespace dikkat
