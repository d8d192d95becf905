#include "autograd/ops/arrange.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/broadcast.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/formulas.h"
#include "autograd/kernels/strided_copy.h"
#include "autograd/ops/axes.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

using Strides = std::array<index, Shape::kMaxRank>;

/// A view of some elements of a tensor, each at most once: element i of the result is x[first + sum of i_k strides[k]].
struct StridedView {
  Shape shape{};
  index first = 0;
  Strides strides{};
};

/// Copies the elements of a view. Backward: each element of the view gets its derivative, and the others none.
Tensor copied(Op op, Tensor x, const StridedView& view) {
  return for_element(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const Tensor y = tape.make(view.shape, x.dtype());
    const Strides whole = kernels::contiguous_strides(view.shape);
    kernels::strided_copy<T>({.shape = view.shape,
                              .from = x.data<T>() + view.first,
                              .from_strides = view.strides,
                              .to = {y.mutable_data<T>()},
                              .to_strides = whole});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        if (!dx.add && y.size() < x.size()) {
          kernels::fill<T>(x.size(), Computed<T>(0), dx);
        }
        kernels::strided_copy<T>({.shape = view.shape,
                                  .from = g.of<T>(y),
                                  .from_strides = whole,
                                  .to = {dx.data + view.first, dx.add},
                                  .to_strides = view.strides});
      }
    });
    return y;
  });
}

}  // namespace

Tensor permute(Tensor x, std::span<const int> axes) {
  const Shape& shape = x.shape();
  require(std::ssize(axes) == shape.rank(), "permute: ", axes.size(), " axes for ", shape, ", expected ", shape.rank());
  const Strides strides = kernels::contiguous_strides(shape);
  std::array<index, Shape::kMaxRank> extents{};
  std::array<bool, Shape::kMaxRank> taken{};
  StridedView view;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(checked_axis("permute", shape, axes[k]));
    require(!taken[axis], "permute: axis ", axes[k], " of ", shape, " is given twice, expected each axis once");
    taken[axis] = true;
    extents[k] = shape[static_cast<int>(axis)];
    view.strides[k] = strides[axis];
  }
  view.shape = Shape(std::span(extents).first(axes.size()));
  return copied(Op::permute, x, view);
}

Tensor transpose(Tensor x, int a, int b) {
  std::array<int, Shape::kMaxRank> axes{};
  for (int k = 0; k < x.shape().rank(); ++k) {
    axes[static_cast<std::size_t>(k)] = k;
  }
  std::swap(axes[static_cast<std::size_t>(checked_axis("transpose", x.shape(), a))],
            axes[static_cast<std::size_t>(checked_axis("transpose", x.shape(), b))]);
  return permute(x, std::span(axes).first(static_cast<std::size_t>(x.shape().rank())));
}

Tensor diagonal(Tensor x, int a, int b) {
  const Shape& shape = x.shape();
  const int one = checked_axis("diagonal", shape, a), other = checked_axis("diagonal", shape, b);
  require(one != other && shape[one] == shape[other], "diagonal: axes ", a, " and ", b, " of ", shape,
          ", expected two axes of equal extents");
  const Strides strides = kernels::contiguous_strides(shape);
  const Shape rest = without_axis(without_axis(shape, std::max(one, other)), std::min(one, other));
  StridedView view{.shape = with_axis("diagonal", rest, rest.rank(), shape[one])};
  std::size_t axis = 0;
  for (int k = 0; k < shape.rank(); ++k) {
    if (k != one && k != other) {
      view.strides[axis++] = strides[static_cast<std::size_t>(k)];
    }
  }
  view.strides[axis] = strides[static_cast<std::size_t>(one)] + strides[static_cast<std::size_t>(other)];
  return copied(Op::diagonal, x, view);
}

Tensor reshape(Tensor x, Shape shape) {
  Tape& tape = begin_op(Op::reshape, {x});
  const Tensor y = tape.view(x, shape);
  tape.record({x}, {y}, [=](Gradients& g) { g.pass(y, x); });
  return y;
}

Tensor reshape(Tensor x, std::initializer_list<index> given) {
  std::array<index, Shape::kMaxRank> extents{};
  require(given.size() <= extents.size(), "reshape: ", given.size(), " axes, expected at most ", extents.size());
  std::copy(given.begin(), given.end(), extents.begin());
  const auto used = std::span<index>(extents).first(given.size());
  const auto open = std::find(used.begin(), used.end(), -1);
  if (open == used.end()) {
    return reshape(x, Shape(used));
  }
  *open = 1;
  require(std::find(used.begin(), used.end(), -1) == used.end(), "reshape: ", x.shape(), " with -1 for two extents, expected it once");
  const index others = Shape(used).size();
  require(others > 0 && x.size() % others == 0, "reshape: ", x.shape(), " has ", x.size(), " elements, and the given extents make ", others,
          ", expected a number that divides them");
  *open = x.size() / others;
  return reshape(x, Shape(used));
}

namespace {

/// Returns `count` elements of an axis, `step` apart; all of them exist.
Tensor sliced(Tensor x, int along, index begin, index count, index step) {
  StridedView view{.shape = with_extent(x.shape(), along, count), .strides = kernels::contiguous_strides(x.shape())};
  index& stride = view.strides[static_cast<std::size_t>(along)];
  view.first = count == 0 ? 0 : begin * stride;
  stride *= count > 1 ? step : 1;  // the step to another element is shorter than the axis; other steps may be any number
  return copied(Op::slice, x, view);
}

}  // namespace

Tensor slice(Tensor x, int axis, index begin, index size) {
  const int along = checked_axis("slice", x.shape(), axis);
  require(0 <= begin && 0 <= size && begin <= x.shape()[along] - size, "slice: ", size, " elements from number ", begin, " of axis ", axis,
          " of ", x.shape(), ", expected them to lie in it");
  return sliced(x, along, begin, size, 1);
}

Tensor slice(Tensor x, int axis, const Range& range) {
  const int along = checked_axis("slice", x.shape(), axis);
  const index extent = x.shape()[along], step = range.step;
  require(step != 0, "slice: step 0, expected another number");
  // Python's rules: bounds beyond the ends are cut, and a negative step begins at the end.
  const index lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
  const auto bound = [&](const std::optional<index>& given, index without) {
    return given ? std::clamp(*given < 0 ? *given + extent : *given, lowest, highest) : without;
  };
  const index begin = bound(range.begin, step > 0 ? 0 : extent - 1), end = bound(range.end, step > 0 ? extent : -1);
  const index way = step > 0 ? end - begin : begin - end;
  const index length =
      std::max(step, -std::max(step, -std::numeric_limits<index>::max()));  // the step's length; the lowest number has no negative
  const index count = way > 0 ? ceil_div(way, length) : 0;
  return sliced(x, along, begin, count, step);
}

Tensor select(Tensor x, int axis, index i) {
  const int along = checked_axis("select", x.shape(), axis);
  const index extent = x.shape()[along];
  require(-extent <= i && i < extent, "select: index ", i, " of axis ", axis, " of ", x.shape(), ", expected one of its ", extent);
  const index at = i < 0 ? i + extent : i;
  return reshape(slice(x, along, at, 1), without_axis(x.shape(), along));
}

Tensor flip(Tensor x, int axis) { return slice(x, axis, Range{.step = -1}); }

Tensor broadcast_to(Tensor x, const Shape& shape) {
  require(broadcast_shape("broadcast_to", x.shape(), shape) == shape, "broadcast_to: ", x.shape(), " as ", shape,
          ", expected each extent to be equal, or to be 1 before");
  return detail::elementwise(name_of(Op::broadcast_to), std::span(&x, 1), kernels::formula(kernels::Same{}), shape);
}

Tensor pad(Tensor x, int axis, index before, index after, double value) {
  return for_element(x.dtype(), "pad", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::pad, {x});
    const int along = checked_axis("pad", x.shape(), axis);
    constexpr index kMost = std::numeric_limits<index>::max();
    require(before >= 0 && after >= 0, "pad: ", before, " and ", after, " elements, expected 0 or more");
    require(before <= kMost - x.shape()[along] && after <= kMost - x.shape()[along] - before, "pad: ", before, " and ", after,
            " elements beside ", x.shape(), ", more than an axis can have");
    require(x.dtype() != DType::i32 || (std::trunc(value) == value && kernels::first_not_i32(1, &value) == 1), "pad: value ", value,
            " beside ids, expected a number that i32 holds");
    const Shape shape = with_extent(x.shape(), along, x.shape()[along] + before + after);
    const Tensor y = tape.make(shape, x.dtype());
    const Strides inside = kernels::contiguous_strides(shape), whole = kernels::contiguous_strides(x.shape());
    const index first = before * inside[static_cast<std::size_t>(along)];
    kernels::fill<T>(y.size(), static_cast<Computed<T>>(value), {y.mutable_data<T>()});
    kernels::strided_copy<T>(
        {.shape = x.shape(), .from = x.data<T>(), .from_strides = whole, .to = {y.mutable_data<T>() + first}, .to_strides = inside});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        kernels::strided_copy<T>({.shape = x.shape(), .from = g.of<T>(y) + first, .from_strides = inside, .to = dx, .to_strides = whole});
      }
    });
    return y;
  });
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  require(!parts.empty(), "concat: no tensors, expected 1 or more");
  return for_element(parts.front().dtype(), "concat", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::concat, parts);
    // Check the extents and make the result.
    const Shape& first = parts.front().shape();
    const int along = checked_axis("concat", first, axis);
    index extent = 0;
    for (const Tensor part : parts) {
      require(part.shape().rank() == first.rank() && with_extent(part.shape(), along, 0) == with_extent(first, along, 0),
              "concat: ", part.shape(), " beside ", first, ", expected them to differ in axis ", axis, " only");
      extent += part.shape()[along];
    }
    const Tensor y = tape.make(with_extent(first, along, extent), parts.front().dtype());
    const Strides inside = kernels::contiguous_strides(y.shape());
    const index step = inside[static_cast<std::size_t>(along)];
    // Copy one part after another. Backward copies the other way.
    index at = 0;
    for (const Tensor part : parts) {
      kernels::strided_copy<T>({.shape = part.shape(),
                                .from = part.data<T>(),
                                .from_strides = kernels::contiguous_strides(part.shape()),
                                .to = {y.mutable_data<T>() + at * step},
                                .to_strides = inside});
      at += part.shape()[along];
    }
    // Keep the parts with the tape for backward.
    Tensor* const kept = tape.recording() ? tape.save<Tensor>(static_cast<index>(parts.size())) : nullptr;
    if (kept != nullptr) {
      std::copy(parts.begin(), parts.end(), kept);
    }
    const auto n = parts.size();
    const std::span outputs(&y, 1);
    tape.record(parts, outputs, cost_without_inputs(parts, outputs), [=](Gradients& g) {
      index first_of_part = 0;
      for (const Tensor part : std::span(kept, n)) {
        if (auto dx = g.into<T>(part)) {
          kernels::strided_copy<T>({.shape = part.shape(),
                                    .from = g.of<T>(y) + first_of_part * step,
                                    .from_strides = inside,
                                    .to = dx,
                                    .to_strides = kernels::contiguous_strides(part.shape())});
        }
        first_of_part += part.shape()[along];
      }
    });
    return y;
  });
}

Tensor stack(std::span<const Tensor> parts, int axis) {
  require(!parts.empty(), "stack: no tensors, expected 1 or more");
  const Shape& shape = parts.front().shape();
  const int along = axis < 0 ? axis + shape.rank() + 1 : axis;
  require(0 <= along && along <= shape.rank(), "stack: axis ", axis, " beside ", shape, ", expected one of ", shape.rank() + 1);
  std::vector<Tensor> views;
  for (const Tensor part : parts) {
    require(part.shape() == shape, "stack: ", part.shape(), " beside ", shape, ", expected equal shapes");
    views.push_back(reshape(part, with_axis("stack", shape, along, 1)));
  }
  return concat(views, along);
}

std::vector<Tensor> split(Tensor x, int axis, std::span<const index> sizes) {
  const int along = checked_axis("split", x.shape(), axis);
  std::vector<Tensor> parts;
  index at = 0;
  for (const index size : sizes) {
    parts.push_back(slice(x, along, at, size));
    at += size;
  }
  require(at == x.shape()[along], "split: sizes of ", at, " in all along axis ", axis, " of ", x.shape(), ", expected ", x.shape()[along]);
  return parts;
}

std::vector<Tensor> split(Tensor x, int axis, index size) {
  const index extent = x.shape()[checked_axis("split", x.shape(), axis)];
  require(size > 0, "split: size ", size, ", expected 1 or more");
  std::vector<index> sizes;
  for (index at = 0; at < extent; at += size) {
    sizes.push_back(std::min(size, extent - at));
  }
  return split(x, axis, sizes);
}

Tensor unsqueeze(Tensor x, int axis) {
  const int along = axis < 0 ? axis + x.shape().rank() + 1 : axis;
  require(0 <= along && along <= x.shape().rank(), "unsqueeze: axis ", axis, " of ", x.shape(), ", expected one of ", x.shape().rank() + 1);
  return reshape(x, with_axis("unsqueeze", x.shape(), along, 1));
}

Tensor squeeze(Tensor x, int axis) {
  const int along = checked_axis("squeeze", x.shape(), axis);
  require(x.shape()[along] == 1, "squeeze: axis ", axis, " of ", x.shape(), ", expected an extent of 1");
  return reshape(x, without_axis(x.shape(), along));
}

}  // namespace dikkat
