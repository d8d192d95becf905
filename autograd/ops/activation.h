#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

enum class Activation { gelu, relu, relu2, silu };

/// The function between the two linear layers of a feed-forward: f(x); or gated, f(gate) * up, where a row of x is gate | up. Gated silu is
/// SwiGLU, gated gelu is GeGLU (Shazeer, arXiv 2002.05202).
struct Nonlinearity {
  Activation activation = Activation::gelu;
  bool gated = false;

  /// Returns the columns of the result for an x with this many columns.
  index columns_of(index columns) const { return gated ? columns / 2 : columns; }
};

/// Returns f(gate) * up of x (..., 2 n): (..., n). Throws Error for an odd number of columns.
Tensor gated(Activation activation, Tensor x);

/// Returns f(x), or gated(f, x), of f32, f64 or bf16.
Tensor activate(const Nonlinearity& nonlinearity, Tensor x);

}  // namespace dikkat
