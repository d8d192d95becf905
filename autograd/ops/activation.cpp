#include "autograd/ops/activation.h"

#include "autograd/ops/activation_function.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor gated(Activation activation, Tensor x) {
  return for_stored(x.dtype(), "gated", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::gated, {x});
    require(x.shape().rank() >= 1 && x.shape().cols() % 2 == 0, "gated: x is ", x.shape(), ", expected an even number of columns");
    const index cols = x.shape().cols() / 2;
    const Tensor y = tape.make(x.shape().with_cols(cols), x.dtype());
    const kernels::Gated<T> problem{
        .activation = gate_activation(activation), .rows = x.shape().rows(), .cols = cols, .x = x.data<T>(), .y = y.mutable_data<T>()};
    kernels::gated_forward(problem);
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.dy = g.of<T>(y);
      backward.dx = g.into<T>(x);
      kernels::gated_backward(backward);
    });
    return y;
  });
}

Tensor activate(const Nonlinearity& nonlinearity, Tensor x) {
  if (nonlinearity.gated) {
    return gated(nonlinearity.activation, x);
  }
  switch (nonlinearity.activation) {
    case Activation::gelu: return gelu(x);
    case Activation::relu: return relu(x);
    case Activation::relu2: return relu2(x);
    case Activation::silu: return silu(x);
  }
  fail("activate: activation number ", static_cast<int>(nonlinearity.activation), ", expected one of the enumeration");
}

}  // namespace dikkat
