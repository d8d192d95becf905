#include "autograd/ops/indexing.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/indexing.h"
#include "autograd/kernels/reduce/sort.h"
#include "autograd/kernels/strided_copy.h"
#include "autograd/ops/axes.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

using Strides = std::array<index, Shape::kMaxRank>;

/// Throws Error unless ids are i32, from 0 to `extent` - 1. `what` names the things that they choose from.
template <class... What>
void check_ids(const char* op, Tensor ids, index extent, const What&... what) {
  require(ids.dtype() == DType::i32, op, ": ids are ", ids.dtype(), " ", ids.shape(), ", expected i32");
  const auto* const values = ids.data<std::int32_t>();
  const index at = kernels::first_outside(ids.size(), values, extent);
  if (at < ids.size()) {
    require(extent > 0, op, ": id ", values[at], " of ", what..., ", but there is nothing to choose; expected no ids");
    fail(op, ": id ", values[at], " (number ", at, ") of ", what..., ", expected 0 to ", extent - 1);
  }
}

/// Returns the elements of x that ids choose one by one.
kernels::Choice choice_of_elements(Op op, Tensor x, int axis, Tensor ids) {
  const Shape& shape = x.shape();
  const Shape& chosen = ids.shape();
  const int along = checked_axis(name_of(op), shape, axis);
  require(chosen.rank() == shape.rank(), op, ": ids are ", chosen, ", expected as many axes as x ", shape, " has");
  for (int k = 0; k < shape.rank(); ++k) {
    require(k == along || chosen[k] <= shape[k], op, ": ids are ", chosen, " and x ", shape, ", expected at most x's extents besides axis ",
            axis);
  }
  check_ids(name_of(op), ids, shape[along], "axis ", axis, " of x ", shape);
  return {.shape = chosen,
          .axis = along,
          .extent = shape[along],
          .strides = kernels::contiguous_strides(shape),
          .ids = ids.data<std::int32_t>(),
          .id_strides = kernels::contiguous_strides(chosen)};
}

/// Runs backward of a choice from x: adds dy to the chosen elements of dx.
template <class T>
void scatter_gradient(const kernels::Choice& choice, index size, const T* dy, GradOut<T> dx) {
  if (!dx) {
    return;
  }
  if (!dx.add) {
    kernels::fill<T>(size, Computed<T>(0), dx);
  }
  kernels::scatter_add<T>({.choice = choice, .source = dy, .y = dx.data});
}

/// Returns the chosen elements of x, as an op.
template <class T>
Tensor chosen(Tape& tape, Tensor x, Tensor ids, const kernels::Choice& choice) {
  const Tensor y = tape.make(choice.shape, x.dtype());
  kernels::gather<T>({.choice = choice, .x = x.data<T>(), .y = {y.mutable_data<T>()}});
  // Only the chosen elements of x are read: as many as y has.
  if constexpr (std::is_same_v<T, std::int32_t>) {
    end_without_gradient(tape, {y, ids}, y);
  } else {
    const double read = bytes_of(y) + bytes_of(ids);
    const OpCost cost{{.bytes = read + bytes_of(y)}, {.bytes = read + gradient_bytes_of(std::span(&x, 1))}};
    tape.record({x}, {y}, cost, [=](Gradients& g) { scatter_gradient<T>(choice, x.size(), g.of<T>(y), g.into<T>(x)); });
  }
  return y;
}

/// Returns the indices of the first `count` elements along an axis, in order.
Tensor first_in_order(const char* op, Tensor x, int along, index count, bool descending) {
  return for_element(x.dtype(), op, [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const Shape& shape = x.shape();
    constexpr index kMost = index{1} << 31;
    require(shape[along] <= kMost, op, ": axis ", along, " of ", shape, ", expected an extent of at most ", kMost, ", as indices are i32");
    index outer = 1, inner = 1;
    for (int k = 0; k < shape.rank(); ++k) {
      (k < along ? outer : inner) *= k == along ? 1 : shape[k];
    }
    const Tensor y = tape.make(with_extent(shape, along, count), DType::i32);
    kernels::order<T>({.outer = outer,
                       .extent = shape[along],
                       .inner = inner,
                       .count = count,
                       .descending = descending,
                       .x = x.data<T>(),
                       .indices = y.mutable_data<std::int32_t>()});
    end_without_gradient(tape, {x}, y);
    return y;
  });
}

}  // namespace

Tensor gather(Tensor x, int axis, Tensor ids) {
  return for_element(x.dtype(), "gather", [&](auto zero) {
    Tape& tape = begin_op(Op::gather, {x}, {ids});
    return chosen<decltype(zero)>(tape, x, ids, choice_of_elements(Op::gather, x, axis, ids));
  });
}

Tensor scatter_add(Tensor x, int axis, Tensor ids, Tensor source) {
  return for_stored(x.dtype(), "scatter_add", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::scatter_add, {x, source}, {ids});
    const kernels::Choice choice = choice_of_elements(Op::scatter_add, x, axis, ids);
    require(source.shape() == ids.shape(), "scatter_add: source is ", source.shape(), ", expected the shape of ids ", ids.shape());
    // Copy x, and add the source.
    const Tensor y = tape.make(x.shape(), x.dtype());
    const Strides whole = kernels::contiguous_strides(x.shape());
    kernels::strided_copy<T>(
        {.shape = x.shape(), .from = x.data<T>(), .from_strides = whole, .to = {y.mutable_data<T>()}, .to_strides = whole});
    kernels::scatter_add<T>({.choice = choice, .source = source.data<T>(), .y = y.mutable_data<T>()});
    const double read = bytes_of(source) + bytes_of(ids);
    const OpCost cost{{.bytes = bytes_of(x) + bytes_of(y) + read}, {.bytes = read + gradient_bytes_of(std::span(&source, 1))}};
    tape.record({x, source}, {y}, cost, [=](Gradients& g) {
      g.pass(y, x);
      if (auto dsource = g.into<T>(source)) {
        kernels::gather<T>({.choice = choice, .x = g.of<T>(y), .y = dsource});
      }
    });
    return y;
  });
}

Tensor index_select(Tensor x, int axis, Tensor ids) {
  return for_element(x.dtype(), "index_select", [&](auto zero) {
    Tape& tape = begin_op(Op::index_select, {x}, {ids});
    const Shape& shape = x.shape();
    const int along = checked_axis("index_select", shape, axis);
    require(ids.shape().rank() == 1, "index_select: ids are ", ids.shape(), ", expected one axis");
    check_ids("index_select", ids, shape[along], "axis ", axis, " of x ", shape);
    kernels::Choice choice{.shape = with_extent(shape, along, ids.size()),
                           .axis = along,
                           .extent = shape[along],
                           .strides = kernels::contiguous_strides(shape),
                           .ids = ids.data<std::int32_t>()};
    choice.id_strides[static_cast<std::size_t>(along)] = 1;
    return chosen<decltype(zero)>(tape, x, ids, choice);
  });
}

Tensor one_hot(Tensor ids, index classes, DType dtype) {
  return for_stored(dtype, "one_hot", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op("one_hot", {}, {ids});
    require(classes >= 0, "one_hot: ", classes, " classes, expected 0 or more");
    check_ids("one_hot", ids, classes, classes, " classes");
    const Tensor y = tape.make(with_axis("one_hot", ids.shape(), ids.shape().rank(), classes), dtype);
    kernels::one_hot<T>(ids.size(), classes, ids.data<std::int32_t>(), y.mutable_data<T>());
    end_without_gradient(tape, {ids}, y);
    return y;
  });
}

Tensor argsort(Tensor x, int axis, bool descending) {
  const int along = checked_axis("argsort", x.shape(), axis);
  return first_in_order("argsort", x, along, x.shape()[along], descending);
}

Sorted sort(Tensor x, int axis, bool descending) {
  const int along = checked_axis("sort", x.shape(), axis);
  const Tensor indices = first_in_order("sort", x, along, x.shape()[along], descending);
  return {gather(x, along, indices), indices};
}

Sorted topk(Tensor x, index k, int axis, bool largest) {
  const int along = checked_axis("topk", x.shape(), axis);
  require(0 <= k && k <= x.shape()[along], "topk: ", k, " elements of axis ", axis, " of ", x.shape(), ", expected 0 to ",
          x.shape()[along]);
  const Tensor indices = first_in_order("topk", x, along, k, largest);
  return {gather(x, along, indices), indices};
}

}  // namespace dikkat
