#include "autograd/ops/basic.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/formulas.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

template <class F>
Tensor map(Op op, Tensor x, const F& function) {
  return detail::elementwise(name_of(op), std::span(&x, 1), kernels::formula(function));
}

}  // namespace

Tensor gelu(Tensor x) { return map(Op::gelu, x, kernels::Gelu{}); }
Tensor relu(Tensor x) { return map(Op::relu, x, kernels::Relu{}); }
Tensor relu2(Tensor x) { return map(Op::relu2, x, kernels::Relu2{}); }
Tensor silu(Tensor x) { return map(Op::silu, x, kernels::Silu{}); }
Tensor sigmoid(Tensor x) { return map(Op::sigmoid, x, kernels::Sigmoid{}); }
Tensor tanh(Tensor x) { return map(Op::tanh, x, kernels::Tanh{}); }
Tensor softplus(Tensor x) { return map(Op::softplus, x, kernels::Softplus{}); }

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
  return for_element(x.dtype(), "cast", [&](auto from) {
    return for_element(dtype, "cast", [&](auto to) {
      using X = decltype(from);
      using Y = decltype(to);
      Tape& tape = begin_op(Op::cast, {x});
      if (x.dtype() == dtype) {
        return x;
      }
      const bool to_ids = dtype == DType::i32;
      const index wrong = to_ids ? kernels::first_not_i32(x.size(), x.data<X>()) : x.size();
      if (wrong < x.size()) {
        fail("cast: element ", wrong, " of ", x.shape(), " is ", to_computed(x.data<X>()[wrong]), ", expected numbers that i32 holds");
      }
      const Tensor y = tape.make(x.shape(), dtype);
      kernels::convert<X, Y>(x.size(), x.data<X>(), {y.mutable_data<Y>()});
      if (to_ids) {
        end_without_gradient(tape, {x}, y);
        return y;
      }
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
