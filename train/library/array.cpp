#include "train/library/array.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace dikkat {
namespace {

template <class To, class From>
std::vector<To> converted(std::span<const From> values) {
  std::vector<To> all;
  all.reserve(values.size());
  for (const From value : values) {
    if constexpr (std::is_same_v<To, std::int32_t> && !std::is_same_v<From, std::int32_t>) {
      const auto wide = static_cast<double>(value);
      require_input(wide == std::trunc(wide) && std::abs(wide) <= std::numeric_limits<std::int32_t>::max(), "array: ", value,
                    " as i32, expected whole numbers from -2147483647 to 2147483647");
    }
    all.push_back(static_cast<To>(value));
  }
  return all;
}

}  // namespace

Array::Array(const Shape& shape, Values values) : shape_(shape), values_(std::move(values)) {
  require(shape.rank() >= 1, "array: a scalar, expected a shape whose first extent counts the rows");
  const auto count = std::visit([](const auto& all) { return std::ssize(*all); }, values_);
  require(count == shape.size(), "array: ", count, " numbers for the shape ", shape, ", expected ", shape.size());
}

DType Array::dtype() const {
  return std::visit([](const auto& all) { return kDType<typename std::remove_cvref_t<decltype(*all)>::value_type>; }, values_);
}

Array Array::rows(index begin, index count) const {
  require(begin >= 0 && count >= 0 && count <= rows() - begin, "array: ", count, " rows from row ", begin, " of ", shape_,
          ", expected rows that are there");
  std::vector<index> extents(shape_.extents().begin(), shape_.extents().end());
  extents[0] = count;
  Array part = *this;
  part.shape_ = Shape(extents);
  part.begin_ += rows() == 0 ? 0 : begin * (shape_.size() / rows());
  return part;
}

Array Array::columns(index begin, index count) const {
  require(shape_.rank() == 2 && begin >= 0 && count >= 0 && count <= shape_[1] - begin, "array: ", count, " columns from column ", begin,
          " of ", shape_, ", expected a matrix that has them");
  const Shape shape = count == 1 ? Shape{rows()} : Shape{rows(), count};
  return std::visit(
      [&](const auto& all) {
        std::remove_const_t<std::remove_reference_t<decltype(*all)>> some;
        some.reserve(static_cast<std::size_t>(shape.size()));
        for (index row = 0; row < rows(); ++row) {
          const auto first = all->begin() + begin_ + row * shape_[1] + begin;
          some.insert(some.end(), first, first + count);
        }
        return Array(shape, std::move(some));
      },
      values_);
}

Array Array::column(index i) const { return columns(i, 1); }

Array Array::as(DType dtype) const {
  if (dtype == this->dtype()) {
    return *this;
  }
  return std::visit(
      [&](const auto& all) -> Array {
        using From = typename std::remove_cvref_t<decltype(*all)>::value_type;
        switch (dtype) {
          case DType::f32: return {shape_, converted<float>(values<From>())};
          case DType::f64: return {shape_, converted<double>(values<From>())};
          case DType::i32: return {shape_, converted<std::int32_t>(values<From>())};
          case DType::bf16: break;
        }
        fail("array: in ", dtype, ", expected f32, f64 or i32");
      },
      values_);
}

Array Array::reshaped(const Shape& shape) const {
  require(shape.rank() >= 1 && shape.size() == shape_.size(), "array: ", shape_, " in the shape ", shape, ", expected one of ",
          shape_.size(), " numbers, and not a scalar's");
  Array same = *this;
  same.shape_ = shape;
  return same;
}

}  // namespace dikkat
