#include "autograd/ops/basic.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

template <class T>
kernels::Binary<T> binary(Tensor a, Tensor b) {
  return {.rows = a.shape().rows(), .cols = a.shape().cols(), .repeat_b = b.shape() != a.shape(), .a = a.data<T>(), .b = b.data<T>()};
}

void check_pair(Op op, Tensor a, Tensor b) {
  require(b.shape() == a.shape() || b.shape() == Shape{a.shape().cols()}, op, ": b is ", b.shape(), ", expected a's shape ", a.shape(),
          " or [", a.shape().cols(), "]");
}

Tensor map(Op op, kernels::Function function, Tensor x, double exponent = 0) {
  return for_stored(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(op, {x});
    const Tensor y = tape.make(x.shape(), x.dtype());
    const auto e = static_cast<Computed<T>>(exponent);
    kernels::map_forward<T>({.function = function, .exponent = e, .n = x.size(), .x = x.data<T>(), .y = y.mutable_data<T>()});
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      kernels::map_backward<T>(
          {.function = function, .exponent = e, .n = x.size(), .x = x.data<T>(), .dy = g.of<T>(y), .dx = g.into<T>(x)});
    });
    return y;
  });
}

}  // namespace

Tensor add(Tensor a, Tensor b) {
  return for_float(a.dtype(), "add", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::add, {a, b});
    check_pair(Op::add, a, b);
    const Tensor y = tape.make(a.shape(), a.dtype());
    auto forward = binary<T>(a, b);
    forward.y = y.mutable_data<T>();
    kernels::add_forward(forward);
    const Cost mostly_passed_on{};
    tape.record({a, b}, {y}, {cost_of({a, b}, {y}).forward, mostly_passed_on}, [=](Gradients& g) {
      g.pass(y, a);
      if (b.shape() == a.shape()) {
        g.pass(y, b);
      } else if (auto db = g.into<T>(b)) {
        kernels::sum_rows<T>(a.shape().rows(), a.shape().cols(), g.of<T>(y), db);
      }
    });
    return y;
  });
}

Tensor multiply(Tensor a, Tensor b) {
  return for_float(a.dtype(), "multiply", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::multiply, {a, b});
    check_pair(Op::multiply, a, b);
    const Tensor y = tape.make(a.shape(), a.dtype());
    auto forward = binary<T>(a, b);
    forward.y = y.mutable_data<T>();
    kernels::multiply_forward(forward);
    tape.record({a, b}, {y}, cost_of({a, b}, {y}), [=](Gradients& g) {
      auto backward = binary<T>(a, b);
      backward.dy = g.of<T>(y);
      backward.da = g.into<T>(a);
      backward.db = g.into<T>(b);
      kernels::multiply_backward(backward);
    });
    return y;
  });
}

Tensor scale(Tensor x, double factor, Lifetime lifetime) {
  return for_float(x.dtype(), "scale", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::scale, {x});
    const Tensor y = tape.make(x.shape(), x.dtype(), lifetime);
    const T f = static_cast<T>(factor);
    kernels::scaled_copy<T>(x.size(), f, x.data<T>(), {y.mutable_data<T>()});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        kernels::scaled_copy<T>(x.size(), f, g.of<T>(y), dx);
      }
    });
    return y;
  });
}

Tensor weighted_sum(Tensor x, Tensor z, Tensor a, Tensor b) {
  return for_float(x.dtype(), "weighted_sum", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::weighted_sum, {x, z, a, b});
    require(z.shape() == x.shape(), "weighted_sum: z is ", z.shape(), ", expected x's shape ", x.shape());
    require(a.size() == 1 && b.size() == 1, "weighted_sum: the factors are ", a.shape(), " and ", b.shape(), ", expected one number each");
    const Tensor y = tape.make(x.shape(), x.dtype());
    kernels::WeightedSum<T> problem{
        .n = x.size(), .a = a.data<T>(), .b = b.data<T>(), .x = x.data<T>(), .z = z.data<T>(), .y = y.mutable_data<T>()};
    kernels::weighted_sum_forward(problem);
    tape.record({x, z, a, b}, {y}, cost_of({x, z}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.dy = g.of<T>(y);
      backward.dx = g.into<T>(x);
      backward.dz = g.into<T>(z);
      backward.da = g.into<T>(a);
      backward.db = g.into<T>(b);
      kernels::weighted_sum_backward(backward);
    });
    return y;
  });
}

Tensor gelu(Tensor x) { return map(Op::gelu, kernels::Function::gelu, x); }
Tensor relu(Tensor x) { return map(Op::relu, kernels::Function::relu, x); }
Tensor relu2(Tensor x) { return map(Op::relu2, kernels::Function::relu2, x); }
Tensor silu(Tensor x) { return map(Op::silu, kernels::Function::silu, x); }
Tensor sigmoid(Tensor x) { return map(Op::sigmoid, kernels::Function::sigmoid, x); }
Tensor tanh(Tensor x) { return map(Op::tanh, kernels::Function::tanh, x); }
Tensor exp(Tensor x) { return map(Op::exp, kernels::Function::exp, x); }
Tensor log(Tensor x) { return map(Op::log, kernels::Function::log, x); }
Tensor power(Tensor x, double exponent) { return map(Op::power, kernels::Function::power, x, exponent); }

Tensor softcap(Tensor x, double cap) { return cap == 0 ? x : scale(tanh(scale(x, 1 / cap)), cap); }

Tensor dropout(Tensor x, const DropoutOptions& o) {
  require(0 <= o.probability && o.probability < 1, "dropout: probability ", o.probability, ", expected 0 <= p < 1");
  if (o.probability == 0) {
    return x;
  }
  return for_stored(x.dtype(), "dropout", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::dropout, {x});
    const Tensor y = tape.make(x.shape(), x.dtype());
    const kernels::Dropping dropping{.probability = o.probability, .stream = o.stream, .first = o.first};
    kernels::dropout<T>({.n = x.size(), .dropping = dropping, .x = x.data<T>(), .y = {y.mutable_data<T>()}});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        kernels::dropout<T>({.n = x.size(), .dropping = dropping, .x = g.of<T>(y), .y = dx});
      }
    });
    return y;
  });
}

Tensor cast(Tensor x, DType dtype) {
  return for_stored(x.dtype(), "cast", [&](auto from) {
    return for_stored(dtype, "cast", [&](auto to) {
      using X = decltype(from);
      using Y = decltype(to);
      Tape& tape = begin_op(Op::cast, {x});
      if (x.dtype() == dtype) {
        return x;
      }
      const Tensor y = tape.make(x.shape(), dtype);
      kernels::convert<X, Y>(x.size(), x.data<X>(), {y.mutable_data<Y>()});
      tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
        if (auto dx = g.into<X>(x)) {
          kernels::convert<Y, X>(x.size(), g.of<Y>(y), dx);
        }
      });
      return y;
    });
  });
}

}  // namespace dikkat
