#pragma once

#include <span>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/reduce.h"
#include "autograd/simd/philox.h"
#include "autograd/tape/tensor.h"

// Ops on f32, f64 or bf16 tensors, which they compute in f32 for bf16. All throw an Error that names the op if shapes or element types do
// not fit.
namespace dikkat {

/// Returns 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), GPT-2's GELU.
Tensor gelu(Tensor x);
/// Returns max(x, 0).
Tensor relu(Tensor x);
/// Returns max(x, 0)^2.
Tensor relu2(Tensor x);
/// Returns x sigmoid(x), also called swish.
Tensor silu(Tensor x);
/// Returns 1 / (1 + e^-x).
Tensor sigmoid(Tensor x);
/// Returns the hyperbolic tangent.
Tensor tanh(Tensor x);
/// Returns log(1 + e^x).
Tensor softplus(Tensor x);

/// Returns cap tanh(x / cap), which keeps x within (-cap, cap). Cap 0: x itself.
Tensor softcap(Tensor x, double cap);

/// An element becomes 0 with `probability`, and is divided by 1 - probability otherwise. Word first + i of the stream decides about element
/// i, so no mask is stored. `first` is the index of element 0 in the step's whole batch.
struct DropoutOptions {
  double probability = 0;
  RandomStream stream{};
  index first = 0;
};
/// Returns x with elements dropped. Probability 0: x itself.
Tensor dropout(Tensor x, const DropoutOptions& options);
inline Tensor dropout(Tensor x, double probability, RandomStream stream, index first = 0) {
  return dropout(x, {.probability = probability, .stream = stream, .first = first});
}

/// Returns x in another element type: f32, f64, bf16 or i32. In its own type: x itself. Ids (i32) become the nearest numbers. Numbers
/// become ids without their fraction, as in PyTorch's int(), and no gradient flows through them. Throws Error for a number that i32 cannot
/// hold.
Tensor cast(Tensor x, DType dtype);

}  // namespace dikkat
