#include "layers/channel_norm.h"

#include <algorithm>
#include <array>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/reduce.h"

namespace dikkat {
namespace {

void require_channels(const char* name, Tensor x, index channels) {
  require(x.shape().rank() >= 2 && x.shape()[1] == channels, name, ": x is ", x.shape(), ", expected (N, ", channels, ", ...)");
}

/// Returns the shape (C, 1, ...) that aligns numbers of channels with x (N, C, ...).
Shape beside(Tensor x) {
  std::array<index, Shape::kMaxRank> extents{};
  extents.fill(1);
  extents[0] = x.shape()[1];
  return Shape(std::span(extents).first(static_cast<std::size_t>(x.shape().rank() - 1)));
}

/// Returns a parameter of the channels in that shape.
Tensor beside(Pass& pass, Tensor x, Parameter parameter) { return reshape(pass.tape.use(parameter), beside(x)); }

/// Returns all axes but that of the channels.
Axes axes_of_batch(Tensor x) {
  std::array<int, Shape::kMaxRank> axes{0};
  for (int axis = 2; axis < x.shape().rank(); ++axis) {
    axes[static_cast<std::size_t>(axis - 1)] = axis;
  }
  return Axes(std::span(axes).first(static_cast<std::size_t>(x.shape().rank() - 1)));
}

/// running += momentum (factor * batch - running).
void move(Parameter running, Tensor batch, double factor, double momentum) {
  const Tensor to = running;
  for_float(to.dtype(), "batch norm", [&](auto zero) {
    using T = decltype(zero);
    T* const values = to.mutable_data<T>();
    const T* const now = batch.data<T>();
    for (index i = 0; i < to.size(); ++i) {
      values[i] += static_cast<T>(momentum) * (static_cast<T>(factor) * now[i] - values[i]);
    }
  });
}

}  // namespace

Tensor BatchNorm::operator()(Pass& pass, Tensor x) const {
  require_channels("batch norm", x, weight.shape()[0]);
  Tensor mean_now, variance_now;
  if (pass.training) {
    const index count = x.size() / std::max<index>(x.shape()[1], 1);
    require(count > 1, "batch norm: x is ", x.shape(), ", expected 2 numbers or more in each channel in training");
    const Axes axes = axes_of_batch(x);
    mean_now = reshape(mean(x, axes), beside(x));
    variance_now = reshape(variance(x, axes, false, 0), beside(x));
    move(running_mean, mean_now, 1, momentum);
    move(running_var, variance_now, static_cast<double>(count) / static_cast<double>(count - 1), momentum);
  } else {
    mean_now = beside(pass, x, running_mean);
    variance_now = beside(pass, x, running_var);
  }
  const Tensor factor = multiply(rsqrt(add(variance_now, eps)), beside(pass, x, weight));
  return elementwise([](auto value, auto center, auto times, auto plus) { return (value - center) * times + plus; }, x, mean_now, factor,
                     beside(pass, x, bias));
}

Tensor GroupNorm::operator()(Pass& pass, Tensor x) const {
  require_channels("group norm", x, weight.shape()[0]);
  const index samples = x.shape()[0];
  const Tensor parts = reshape(x, {samples, groups, x.size() / std::max<index>(samples * groups, 1)});
  const Tensor center = mean(parts, -1, true), factor = rsqrt(add(variance(parts, -1, true, 0), eps));
  const Tensor normed = elementwise([](auto value, auto mid, auto times) { return (value - mid) * times; }, parts, center, factor);
  return elementwise([](auto value, auto times, auto plus) { return value * times + plus; }, reshape(normed, x.shape()),
                     beside(pass, x, weight), beside(pass, x, bias));
}

}  // namespace dikkat
