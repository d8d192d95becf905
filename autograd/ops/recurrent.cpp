#include "autograd/ops/recurrent.h"

#include "autograd/kernels/lstm.h"
#include "autograd/ops/op.h"
#include "autograd/ops/widened.h"

namespace dikkat {
namespace {

void check_shapes(Tensor sums, Tensor weight, Tensor bias, Tensor h0, Tensor c0) {
  const Shape& of_weight = weight.shape();
  require(of_weight.rank() == 2 && of_weight[0] == 4 * of_weight[1], "lstm: weight is ", of_weight, ", expected (4 hidden, hidden)");
  const index hidden = of_weight[1];
  const Shape& shape = sums.shape();
  require(shape.rank() == 3 && shape.size() > 0 && shape[2] == 4 * hidden, "lstm: sums are ", shape, ", expected (B, T, ", 4 * hidden,
          ") with B and T of 1 or more");
  const auto check = [](const char* name, Tensor given, const Shape& expected) {
    require(!given || given.shape() == expected, "lstm: ", name, " is ", given ? given.shape() : Shape{}, ", expected ", expected);
  };
  check("bias", bias, {4 * hidden});
  check("h0", h0, {shape[0], hidden});
  check("c0", c0, {shape[0], hidden});
}

}  // namespace

LstmStates lstm(Tensor sums, Tensor weight, Tensor bias, Tensor h0, Tensor c0) {
  // bf16 is computed in f32.
  if (sums.dtype() == DType::bf16) {
    const LstmStates states = lstm(widened(sums), widened(weight), widened(bias), widened(h0), widened(c0));
    return {cast(states.h, DType::bf16), cast(states.last_c, DType::bf16)};
  }
  return for_float(sums.dtype(), "lstm", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::lstm, {sums, weight, bias, h0, c0});
    check_shapes(sums, weight, bias, h0, c0);
    const index batch = sums.shape()[0], time = sums.shape()[1], hidden = weight.shape()[1];
    // Forward and backward share the description of the problem.
    const LstmStates made{tape.make({batch, time, hidden}, sums.dtype()), tape.make({batch, hidden}, sums.dtype())};
    const auto data = [](Tensor x) { return x ? x.data<T>() : nullptr; };
    const kernels::Lstm<T> problem{.batch = batch,
                                   .time = time,
                                   .hidden = hidden,
                                   .sums = sums.data<T>(),
                                   .weight = weight.data<T>(),
                                   .bias = data(bias),
                                   .h0 = data(h0),
                                   .c0 = data(c0),
                                   .gates = tape.save<T>(sums.size()),
                                   .before = tape.save<T>(made.h.size()),
                                   .cells = tape.save<T>(made.h.size()),
                                   .y = made.h.mutable_data<T>(),
                                   .last_c = made.last_c.mutable_data<T>()};
    kernels::lstm_forward(problem);
    // Backward multiplies twice as much: for the states and for the weight.
    const double flops = 2 * static_cast<double>(sums.size()) * static_cast<double>(hidden);
    const OpCost cost = cost_of({sums, weight, bias, h0, c0}, {made.h, made.last_c}, flops, 2 * flops);
    tape.record({sums, weight, bias, h0, c0}, {made.h, made.last_c}, cost, [=](Gradients& g) {
      const auto into = [&g](Tensor x) { return x ? g.into<T>(x) : GradOut<T>{}; };
      auto backward = problem;
      backward.dy = g.of<T>(made.h);
      backward.dlast_c = g.of<T>(made.last_c);
      backward.dsums = into(sums);
      backward.dweight = into(weight);
      backward.dbias = into(bias);
      backward.dh0 = into(h0);
      backward.dc0 = into(c0);
      kernels::lstm_backward(backward);
    });
    return made;
  });
}

}  // namespace dikkat
