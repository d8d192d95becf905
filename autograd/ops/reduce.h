#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <span>

#include "autograd/tape/tensor.h"

// Reductions along axes, for f32, f64 and bf16, which is computed in f32; max, min, argmax and argmin also take ids (i32). Axes may be
// negative: they are counted from the end then. The order of additions depends on shapes only. All throw an Error that names the op if an
// axis is not one of x's, or is given twice.
namespace dikkat {

/// The axes of a reduction: one, several, or none, which means all.
///
///   sum(x)   sum(x, -1)   sum(x, {0, 2})
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : Axes(std::span(&axis, 1)) {}                                          // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int> axes) : Axes(std::span(axes.begin(), axes.size())) {}  // NOLINT(google-explicit-constructor)
  /// Throws Error for more axes than a shape can have.
  Axes(std::span<const int> axes) : count_(axes.size()) {  // NOLINT(google-explicit-constructor)
    require(axes.size() <= axes_.size(), "axes: ", axes.size(), " of them, expected at most ", axes_.size());
    std::copy(axes.begin(), axes.end(), axes_.begin());
  }
  /// A bool is `keepdim` in the wrong place, and not an axis; nor is a number with a fraction, as in max(x, 0.5), which maximum() is for.
  template <class B>
    requires(std::same_as<B, bool> || std::floating_point<B>)
  Axes(B) = delete;

  bool all() const { return count_ == 0; }
  std::span<const int> list() const { return std::span(axes_).first(count_); }

 private:
  std::array<int, Shape::kMaxRank> axes_{};
  std::size_t count_ = 0;
};

// The result lacks the axes. With `keepdim` it has them, with extent 1.

/// Returns the sum; 0 for no elements. The sum of all elements is added in f64.
Tensor sum(Tensor x, const Axes& axes = {}, bool keepdim = false);
/// Returns the mean. Throws Error for no elements.
Tensor mean(Tensor x, const Axes& axes = {}, bool keepdim = false);
/// Returns the largest, or the smallest, element; NaN if an element is NaN. The gradient goes to the first element that attains it, in
/// row-major order. Throws Error for no elements, and for 2^31 or more.
Tensor max(Tensor x, const Axes& axes = {}, bool keepdim = false);
Tensor min(Tensor x, const Axes& axes = {}, bool keepdim = false);
/// Returns the index of the first element that attains max(), or min(), as i32. Over several axes, indices are in row-major order. No
/// gradient flows through it. Throws Error as max() does.
Tensor argmax(Tensor x, const Axes& axes = {}, bool keepdim = false);
Tensor argmin(Tensor x, const Axes& axes = {}, bool keepdim = false);
/// Returns log sum e^x, without overflow; -infinity for no elements.
Tensor logsumexp(Tensor x, const Axes& axes = {}, bool keepdim = false);
/// Returns sum (x - mean)^2 / (n - correction), where n is the number of elements. With correction 1 it is the estimate from a sample, as
/// by torch.var; with 0 it is the variance of the elements, as by numpy.var. Throws Error unless n is more than the correction.
Tensor variance(Tensor x, const Axes& axes = {}, bool keepdim = false, double correction = 1);

// Along one axis; the result has x's shape.

/// Returns e^x / sum e^x.
Tensor softmax(Tensor x, int axis = -1);
/// Returns x - log sum e^x, the logarithm of softmax().
Tensor log_softmax(Tensor x, int axis = -1);
/// Returns the sum of an element and of those before it along the axis, added in f64.
Tensor cumsum(Tensor x, int axis);

}  // namespace dikkat
