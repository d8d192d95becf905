// A custom op: swish(x) = x sigmoid(x), also called SiLU, with its derivative, a check of the derivative, and its use together with the
// library's ops. The library is not changed.
#include <cmath>
#include <cstdio>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/op.h"
#include "autograd/tape/gradient_check.h"

using namespace dikkat;

// An op checks its operands, makes its result on their tape, computes it, and records how gradients flow back.
Tensor swish(Tensor x) {
  return for_float(x.dtype(), "swish", [&](auto zero) {  // f32 to train, f64 to check
    using T = decltype(zero);
    constexpr index kBlock = 1 << 12;  // elements that a thread computes at a time
    const auto sigmoid = [](T v) { return 1 / (1 + std::exp(-v)); };

    Tape& tape = begin_op("swish", {x});  // the name appears in error messages and profiles
    const Tensor y = tape.make(x.shape(), x.dtype());
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    parallel_blocks(x.size(), kBlock, [&](index begin, index end) {
      for (index i = begin; i < end; ++i) {
        out[i] = in[i] * sigmoid(in[i]);
      }
    });

    // The function that backward() runs owns nothing: it captures tensors, pointers and numbers by value. cost_of() is for `--profile`, and
    // optional.
    tape.record({x}, {y}, cost_of({x}, {y}), [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      if (const GradOut<T> dx = g.into<T>(x)) {  // null if x needs no gradient
        parallel_blocks(x.size(), kBlock, [&](index begin, index end) {
          for (index i = begin; i < end; ++i) {
            const T s = sigmoid(in[i]);
            dx.put(i, dy[i] * s * (1 + in[i] * (1 - s)));  // overwrites, or adds to earlier gradients of x
          }
        });
      }
    });
    return y;
  });
}

int main() {
  // Check the derivative against central differences, in f64.
  const std::vector<CheckedOperand> operands = {{Shape{2, 3}, {-2, -0.5, 0, 0.25, 1, 3}}};
  const double error = gradient_error([](Tape&, std::span<const Tensor> x) { return swish(x[0]); }, operands);
  std::printf("gradient check of swish: %s\n", error < 1e-8 ? "passed" : "failed");

  // Compute two layers with swish between them, and dL/dx of the sum of their results.
  Tape tape;
  const Tensor x = tape.input<float>({1, 2}, std::vector<float>{1, 2}, true);
  const Tensor up = tape.input<float>({3, 2}, std::vector<float>{1, 0, 0, 1, 1, -1});
  const Tensor down = tape.input<float>({1, 3}, std::vector<float>{1, 1, 1});
  const Tensor loss = sum(linear(swish(linear(x, up)), down));
  tape.backward(loss);
  std::printf("loss %.4f, dL/dx %.4f %.4f\n", static_cast<double>(*loss.data<float>()), static_cast<double>(tape.gradient<float>(x)[0]),
              static_cast<double>(tape.gradient<float>(x)[1]));
  return error < 1e-8 ? 0 : 1;
}
