#include "autograd/ops/reduce.h"

#include <limits>

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/reduce/cumulative_sum.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/kernels/reduce/softmax.h"
#include "autograd/ops/axes.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

using kernels::AxisSet;
using kernels::reduced_array;
using kernels::ReducedArray;

AxisSet axis_set(const char* op, const Shape& shape, const Axes& axes) {
  if (axes.all()) {
    return (1U << shape.rank()) - 1;
  }
  AxisSet set = 0;
  for (const int axis : axes.list()) {
    const AxisSet own = 1U << checked_axis(op, shape, axis);
    require((set & own) == 0, op, ": axis ", axis, " of ", shape, " is given twice, expected each axis once");
    set |= own;
  }
  return set;
}

/// Returns the shape of the results.
Shape reduced_shape(const Shape& shape, AxisSet set, bool keepdim) {
  std::array<index, Shape::kMaxRank> extents{};
  std::size_t count = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_reduced = (set >> axis & 1U) != 0;
    if (!is_reduced || keepdim) {
      extents[count++] = is_reduced ? 1 : shape[axis];
    }
  }
  return Shape(std::span(extents).first(count));
}

void require_terms(const char* op, const ReducedArray& array, const Shape& shape) {
  require(array.terms() > 0, op, ": the axes of ", shape, " have no elements, expected one or more");
}

/// Returns `factor` times the sum, or the mean. Sums of all elements have a kernel of their own.
Tensor scaled_sum(Op op, Tensor x, const Axes& axes, bool keepdim) {
  return for_stored(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const AxisSet set = axis_set(name_of(op), x.shape(), axes);
    const ReducedArray array = reduced_array(x.shape(), set);
    if (op == Op::mean) {
      require_terms("mean", array, x.shape());
    }
    const double factor = op == Op::mean ? 1 / static_cast<double>(array.terms()) : 1;
    const Tensor y = tape.make(reduced_shape(x.shape(), set, keepdim), x.dtype());
    if constexpr (!std::is_same_v<T, bf16>) {
      if (array.results() == 1) {
        *y.mutable_data<T>() = static_cast<T>(factor) * kernels::sum<T>(x.size(), x.data<T>());
        tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
          if (auto dx = g.into<T>(x)) {
            kernels::fill<T>(x.size(), static_cast<T>(factor) * *g.of<T>(y), dx);
          }
        });
        return y;
      }
    }
    kernels::sum_along_forward<T>({.array = array, .factor = factor, .x = x.data<T>(), .y = y.mutable_data<T>()});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      kernels::sum_along_backward<T>({.array = reduced_array(x.shape(), set), .factor = factor, .dy = g.of<T>(y), .dx = g.into<T>(x)});
    });
    return y;
  });
}

ReducedArray numbered_array(const char* op, const Shape& shape, AxisSet set) {
  const ReducedArray array = reduced_array(shape, set);
  require_terms(op, array, shape);
  require(array.terms() <= std::numeric_limits<std::int32_t>::max(), op, ": the axes of ", shape, " have ", array.terms(),
          " elements, expected fewer than 2^31");
  return array;
}

Tensor extreme(Op op, Tensor x, const Axes& axes, bool keepdim) {
  return for_element(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const AxisSet set = axis_set(name_of(op), x.shape(), axes);
    const ReducedArray array = numbered_array(name_of(op), x.shape(), set);
    const bool is_max = op == Op::max;
    const Tensor y = tape.make(reduced_shape(x.shape(), set, keepdim), x.dtype());
    auto* const places = tape.recording() && x.needs_gradient() ? tape.save<std::int32_t>(y.size()) : nullptr;
    kernels::extreme_along_forward<T>({.array = array, .is_max = is_max, .x = x.data<T>(), .y = y.mutable_data<T>(), .places = places});
    if constexpr (std::is_same_v<T, std::int32_t>) {
      end_without_gradient(tape, {x}, y);
    } else {
      tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
        kernels::extreme_along_backward<T>(
            {.array = reduced_array(x.shape(), set), .places = places, .dy = g.of<T>(y), .dx = g.into<T>(x)});
      });
    }
    return y;
  });
}

Tensor place_of_extreme(const char* op, bool is_max, Tensor x, const Axes& axes, bool keepdim) {
  return for_element(x.dtype(), op, [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const AxisSet set = axis_set(op, x.shape(), axes);
    const ReducedArray array = numbered_array(op, x.shape(), set);
    const Tensor y = tape.make(reduced_shape(x.shape(), set, keepdim), DType::i32);
    kernels::extreme_along_forward<T>({.array = array, .is_max = is_max, .x = x.data<T>(), .places = y.mutable_data<std::int32_t>()});
    end_without_gradient(tape, {x}, y);
    return y;
  });
}

}  // namespace

Tensor sum(Tensor x, const Axes& axes, bool keepdim) { return scaled_sum(Op::sum, x, axes, keepdim); }
Tensor mean(Tensor x, const Axes& axes, bool keepdim) { return scaled_sum(Op::mean, x, axes, keepdim); }
Tensor max(Tensor x, const Axes& axes, bool keepdim) { return extreme(Op::max, x, axes, keepdim); }
Tensor min(Tensor x, const Axes& axes, bool keepdim) { return extreme(Op::min, x, axes, keepdim); }
Tensor argmax(Tensor x, const Axes& axes, bool keepdim) { return place_of_extreme("argmax", true, x, axes, keepdim); }
Tensor argmin(Tensor x, const Axes& axes, bool keepdim) { return place_of_extreme("argmin", false, x, axes, keepdim); }

Tensor logsumexp(Tensor x, const Axes& axes, bool keepdim) {
  return for_stored(x.dtype(), "logsumexp", [&](auto zero) {
    using T = decltype(zero);
    using C = Computed<T>;
    Tape& tape = begin_op(Op::logsumexp, {x});
    const AxisSet set = axis_set("logsumexp", x.shape(), axes);
    const Tensor y = tape.make(reduced_shape(x.shape(), set, keepdim), x.dtype());
    C* logs;
    if constexpr (std::is_same_v<T, C>) {
      logs = y.mutable_data<T>();
    } else {
      logs = tape.save<C>(y.size());
    }
    kernels::log_sum_exp_along_forward<T>(
        {.array = reduced_array(x.shape(), set), .x = x.data<T>(), .y = y.mutable_data<T>(), .logs = logs});
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      kernels::log_sum_exp_along_backward<T>(
          {.array = reduced_array(x.shape(), set), .x = x.data<T>(), .logs = logs, .dy = g.of<T>(y), .dx = g.into<T>(x)});
    });
    return y;
  });
}

Tensor variance(Tensor x, const Axes& axes, bool keepdim, double correction) {
  return for_stored(x.dtype(), "variance", [&](auto zero) {
    using T = decltype(zero);
    using C = Computed<T>;
    Tape& tape = begin_op(Op::variance, {x});
    const AxisSet set = axis_set("variance", x.shape(), axes);
    const ReducedArray array = reduced_array(x.shape(), set);
    const double divisor = static_cast<double>(array.terms()) - correction;
    require(divisor > 0, "variance: the axes of ", x.shape(), " have ", array.terms(), " elements, expected more than the correction ",
            correction);
    require_terms("variance", array, x.shape());
    const Tensor y = tape.make(reduced_shape(x.shape(), set, keepdim), x.dtype());
    C* const means = tape.save<C>(y.size());
    kernels::variance_along_forward<T>({.array = array, .divisor = divisor, .x = x.data<T>(), .y = y.mutable_data<T>(), .means = means});
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      kernels::variance_along_backward<T>({.array = reduced_array(x.shape(), set),
                                           .divisor = divisor,
                                           .x = x.data<T>(),
                                           .means = means,
                                           .dy = g.of<T>(y),
                                           .dx = g.into<T>(x)});
    });
    return y;
  });
}

namespace {

/// The axis of an array (rows, cols, inner).
struct MiddleAxis {
  index rows = 1, cols = 1, inner = 1;
};
MiddleAxis middle_axis(const char* op, const Shape& shape, int axis) {
  const int along = checked_axis(op, shape, axis);
  MiddleAxis middle{.cols = shape[along]};
  for (int k = 0; k < shape.rank(); ++k) {
    (k < along ? middle.rows : middle.inner) *= k == along ? 1 : shape[k];
  }
  return middle;
}

Tensor normalized(Op op, Tensor x, int axis) {
  return for_stored(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const auto [rows, cols, inner] = middle_axis(name_of(op), x.shape(), axis);
    const Tensor y = tape.make(x.shape(), x.dtype());
    const kernels::Softmax<T> problem{.rows = rows, .cols = cols, .inner = inner, .log = op == Op::log_softmax};
    auto forward = problem;
    forward.x = x.data<T>();
    forward.y = y.mutable_data<T>();
    kernels::softmax_forward(forward);
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.y = y.mutable_data<T>();
      backward.dy = g.of<T>(y);
      backward.dx = g.into<T>(x);
      kernels::softmax_backward(backward);
    });
    return y;
  });
}

}  // namespace

Tensor softmax(Tensor x, int axis) { return normalized(Op::softmax, x, axis); }
Tensor log_softmax(Tensor x, int axis) { return normalized(Op::log_softmax, x, axis); }

Tensor cumsum(Tensor x, int axis) {
  return for_stored(x.dtype(), "cumsum", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::cumsum, {x});
    const MiddleAxis middle = middle_axis("cumsum", x.shape(), axis);
    const Tensor y = tape.make(x.shape(), x.dtype());
    kernels::cumulative_sum<T>(
        {.rows = middle.rows, .cols = middle.cols, .inner = middle.inner, .x = x.data<T>(), .y = {y.mutable_data<T>()}});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        kernels::cumulative_sum<T>(
            {.rows = middle.rows, .cols = middle.cols, .inner = middle.inner, .backward = true, .x = g.of<T>(y), .y = dx});
      }
    });
    return y;
  });
}

}  // namespace dikkat
