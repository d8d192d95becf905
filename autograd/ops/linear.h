#pragma once

#include <optional>

#include "autograd/ops/activation.h"
#include "autograd/ops/matmul.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

struct LinearOptions {
  /// The result's element type: by default x's. f32 is possible for an x of bf16.
  std::optional<DType> dtype{};
  /// Use Lifetime::until_consumed for the end of a branch, which only add_layer_norm() reads.
  Lifetime lifetime = Lifetime::until_reset;
};

/// Returns x weight^T + bias: x (..., in), weight (out, in), bias (out) or absent. With an x of bf16, weight and bias are f32, and the
/// products are of bf16 with sums in f32.
Tensor linear(Tensor x, Tensor weight, Tensor bias = {}, const LinearOptions& options = {});

/// Returns linear(activate(nonlinearity, x), weight, bias). The activation is not stored: backward computes it again.
Tensor activated_linear(const Nonlinearity& nonlinearity, Tensor x, Tensor weight, Tensor bias = {},
                        Lifetime lifetime = Lifetime::until_reset);

/// A product through few columns: scale (read a^T) b^T. a (r, in), b (out, r). `read` (..., in) is x by default; it may be x with dropout.
struct LowRankProduct {
  Tensor a, b;
  double scale = 1;
  Tensor read{};
};

/// Returns x weight^T + bias + scale (read a^T) b^T: a linear layer with an adapter of low rank (Hu et al. 2021, arXiv 2106.09685). As in
/// linear(), an x of bf16 is multiplied by weights of f32.
Tensor adapted_linear(Tensor x, Tensor weight, const LowRankProduct& low, Tensor bias = {}, Lifetime lifetime = Lifetime::until_reset);

}  // namespace dikkat
