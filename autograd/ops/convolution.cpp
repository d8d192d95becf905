#include "autograd/ops/convolution.h"

#include <algorithm>
#include <array>

#include "autograd/kernels/image/convolution.h"
#include "autograd/kernels/image/pool.h"
#include "autograd/ops/op.h"
#include "autograd/ops/widened.h"

namespace dikkat {
namespace {

using kernels::Window;

/// Throws Error unless windows fit into an axis.
Window checked(Op op, const char* axis, const Window& w) {
  constexpr index kMost = index{1} << 31;
  const auto check = [&](const char* what, index value, index least) {
    require(least <= value && value < kMost, op, ": ", what, " ", value, " along the ", axis, ", expected ", least, " or more, below 2^31");
  };
  check("extent", w.size, 1);
  check("kernel", w.kernel, 1);
  check("stride", w.stride, 1);
  check("padding", w.padding, 0);
  check("dilation", w.dilation, 1);
  require(w.extent() <= w.size + 2 * w.padding, op, ": windows of ", w.extent(), " along the ", axis, " of ", w.size, " with padding ",
          w.padding, ", expected at most ", w.size + 2 * w.padding);
  return w;
}

/// The last two axes of x as windows see them.
struct Plane {
  Window height, width;
};
Plane checked_plane(Op op, const Window& height, const Window& width) {
  return {checked(op, "height", height), checked(op, "width", width)};
}

/// Returns a convolution of x (images, channels, ...) and weight (filters, channels of a group, ...), with a result of this shape.
Tensor convolution(Op op, Tensor x, Tensor weight, Tensor bias, const Plane& plane, index groups) {
  if (x.dtype() == DType::bf16) {
    return cast(convolution(op, widened(x), widened(weight), widened(bias), plane, groups), DType::bf16);
  }
  return for_float(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x, weight, bias});
    // Check channels and filters.
    const Shape& shape = x.shape();
    const index channels = shape[1], filters = weight.shape()[0];
    require(channels > 0 && filters > 0, op, ": ", channels, " channels and ", filters, " filters, expected 1 or more of both");
    require(groups > 0 && channels % groups == 0 && filters % groups == 0, op, ": ", groups, " groups of ", channels, " channels and ",
            filters, " filters, expected a number that divides both");
    require(weight.shape()[1] * groups == channels, op, ": x ", shape, " has ", channels, " channels, and weight ", weight.shape(),
            " is for ", weight.shape()[1] * groups, ", expected equal numbers");
    require(!bias || bias.shape() == Shape{filters}, op, ": bias is ", bias ? bias.shape() : Shape{}, ", expected [", filters, "]");
    // Compute the result.
    const kernels::ConvolutionSizes sizes{
        .images = shape[0], .channels = channels, .filters = filters, .groups = groups, .height = plane.height, .width = plane.width};
    const Shape of_y = op == Op::conv1d ? Shape{shape[0], filters, plane.width.count()}
                                        : Shape{shape[0], filters, plane.height.count(), plane.width.count()};
    const Tensor y = tape.make(of_y, x.dtype());
    const kernels::Convolution<T> problem{
        .sizes = sizes, .x = x.data<T>(), .weight = weight.data<T>(), .bias = bias ? bias.data<T>() : nullptr};
    auto forward = problem;
    forward.y = y.mutable_data<T>();
    kernels::convolution_forward(forward);
    // Each gradient is as many multiply-adds.
    const double flops = 2 * sizes.multiply_adds();
    const OpCost cost = cost_of({x, weight, bias}, {y}, flops, flops * (int{x.needs_gradient()} + int{weight.needs_gradient()}));
    tape.record({x, weight, bias}, {y}, cost, [=](Gradients& g) {
      auto backward = problem;
      backward.dy = g.of<T>(y);
      // One tensor may be two operands: the second gradient is added to the first.
      backward.dx = g.into<T>(x);
      kernels::convolution_backward(backward);
      backward.dx = {};
      backward.dweight = g.into<T>(weight);
      backward.dbias = bias ? g.into<T>(bias) : GradOut<T>{};
      kernels::convolution_backward(backward);
    });
    return y;
  });
}

void check_ranks(Op op, Tensor x, Tensor weight, int rank) {
  require(x.shape().rank() == rank, op, ": x is ", x.shape(), ", expected ",
          rank == 3 ? "[batch, channels, length]" : "[batch, channels, height, width]");
  require(weight.shape().rank() == rank, op, ": weight is ", weight.shape(), ", expected [filters, channels of a group, ",
          rank == 3 ? "kernel]" : "kernel height, kernel width]");
}

}  // namespace

Tensor conv1d(Tensor x, Tensor weight, Tensor bias, const Conv1dOptions& o) {
  check_ranks(Op::conv1d, x, weight, 3);
  const Window length{.size = x.shape()[2], .kernel = weight.shape()[2], .stride = o.stride, .padding = o.padding, .dilation = o.dilation};
  return convolution(Op::conv1d, x, weight, bias, {{}, checked(Op::conv1d, "length", length)}, o.groups);
}

Tensor conv2d(Tensor x, Tensor weight, Tensor bias, const Conv2dOptions& o) {
  check_ranks(Op::conv2d, x, weight, 4);
  const Plane plane = checked_plane(Op::conv2d, {x.shape()[2], weight.shape()[2], o.stride.height, o.padding.height, o.dilation.height},
                                    {x.shape()[3], weight.shape()[3], o.stride.width, o.padding.width, o.dilation.width});
  return convolution(Op::conv2d, x, weight, bias, plane, o.groups);
}

Tensor unfold(Tensor x, HeightWidth kernel, const UnfoldOptions& o) {
  if (x.dtype() == DType::bf16) {
    return cast(unfold(widened(x), kernel, o), DType::bf16);
  }
  return for_float(x.dtype(), "unfold", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::unfold, {x});
    const Shape& shape = x.shape();
    require(shape.rank() == 4, "unfold: x is ", shape, ", expected [batch, channels, height, width]");
    const Plane plane = checked_plane(Op::unfold, {shape[2], kernel.height, o.stride.height, o.padding.height, o.dilation.height},
                                      {shape[3], kernel.width, o.stride.width, o.padding.width, o.dilation.width});
    const kernels::ConvolutionSizes sizes{.images = shape[0], .channels = shape[1], .height = plane.height, .width = plane.width};
    const Tensor y = tape.make({shape[0], shape[1] * sizes.taps(), sizes.pixels()}, x.dtype());
    kernels::unfold_forward<T>({.sizes = sizes, .x = x.data<T>(), .y = y.mutable_data<T>()});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}),
                [=](Gradients& g) { kernels::unfold_backward<T>({.sizes = sizes, .dy = g.of<T>(y), .dx = g.into<T>(x)}); });
    return y;
  });
}

namespace {

/// Returns windows for pooling.
Window pool_window(Op op, const char* axis, index size, index kernel, index stride, index padding) {
  const Window window = checked(op, axis, {.size = size, .kernel = kernel, .stride = stride == 0 ? kernel : stride, .padding = padding});
  require(padding <= kernel / 2, op, ": padding ", padding, " along the ", axis, " for windows of ", kernel, ", expected at most ",
          kernel / 2);
  return window;
}

/// Returns the shape with other last extents: one, or two.
Shape with_windows(Op op, const Shape& shape, const Plane& plane) {
  std::array<index, Shape::kMaxRank> extents{};
  const auto end = std::copy(shape.extents().begin(), shape.extents().end(), extents.begin());
  *(end - 1) = plane.width.count();
  if (op == Op::max_pool2d || op == Op::avg_pool2d) {
    *(end - 2) = plane.height.count();
  }
  return Shape(std::span(extents.begin(), end));
}

Tensor pool(Op op, Tensor x, const Plane& plane, bool counts_padding) {
  if (x.dtype() == DType::bf16) {
    return cast(pool(op, widened(x), plane, counts_padding), DType::bf16);
  }
  return for_float(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const bool is_max = op == Op::max_pool1d || op == Op::max_pool2d;
    const index image = plane.height.size * plane.width.size;
    require(image < index{1} << 31, op, ": a plane of ", image, " elements, expected fewer than 2^31");
    const Tensor y = tape.make(with_windows(op, x.shape(), plane), x.dtype());
    // A maximum's place is kept for backward.
    const bool keeps = is_max && tape.recording() && x.needs_gradient();
    const kernels::Pool<T> problem{.planes = image == 0 ? 0 : x.size() / image,
                                   .height = plane.height,
                                   .width = plane.width,
                                   .positions = keeps ? tape.save<std::int32_t>(y.size()) : nullptr,
                                   .counts_padding = counts_padding};
    auto forward = problem;
    forward.x = x.data<T>();
    forward.y = y.mutable_data<T>();
    is_max ? kernels::max_pool_forward(forward) : kernels::avg_pool_forward(forward);
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.dy = g.of<T>(y);
      backward.dx = g.into<T>(x);
      is_max ? kernels::max_pool_backward(backward) : kernels::avg_pool_backward(backward);
    });
    return y;
  });
}

Tensor pool2d(Op op, Tensor x, HeightWidth kernel, const Pool2dOptions& o) {
  require(x.shape().rank() >= 2, op, ": x is ", x.shape(), ", expected [..., height, width]");
  return pool(op, x,
              {pool_window(op, "height", x.shape()[-2], kernel.height, o.stride.height, o.padding.height),
               pool_window(op, "width", x.shape()[-1], kernel.width, o.stride.width, o.padding.width)},
              o.counts_padding);
}
Tensor pool1d(Op op, Tensor x, index kernel, const Pool1dOptions& o) {
  require(x.shape().rank() >= 1, op, ": x is ", x.shape(), ", expected [..., length]");
  return pool(op, x, {{}, pool_window(op, "length", x.shape()[-1], kernel, o.stride, o.padding)}, o.counts_padding);
}

}  // namespace

Tensor max_pool2d(Tensor x, HeightWidth kernel, const Pool2dOptions& options) { return pool2d(Op::max_pool2d, x, kernel, options); }
Tensor avg_pool2d(Tensor x, HeightWidth kernel, const Pool2dOptions& options) { return pool2d(Op::avg_pool2d, x, kernel, options); }
Tensor max_pool1d(Tensor x, index kernel, const Pool1dOptions& options) { return pool1d(Op::max_pool1d, x, kernel, options); }
Tensor avg_pool1d(Tensor x, index kernel, const Pool1dOptions& options) { return pool1d(Op::avg_pool1d, x, kernel, options); }

}  // namespace dikkat
