#pragma once

#include <optional>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// a (..., m, k) times b (..., k, n); or times b (..., n, k) transposed. Leading axes, up to two, are equal.
Tensor matmul(Tensor a, Tensor b, bool transpose_b = false);

/// x weight^T + bias: x (..., in), weight (out, in), bias (out) or absent. With an x of bf16, weight and bias are f32, the products are of
/// bf16 with sums in f32, and the result is bf16, or f32 if `dtype` says so.
Tensor linear(Tensor x, Tensor weight, Tensor bias = {}, std::optional<DType> dtype = {});

enum class Activation { gelu, relu };

/// linear(activation(x), weight, bias). activation(x) is not stored: backward recomputes it.
Tensor activated_linear(Activation activation, Tensor x, Tensor weight, Tensor bias = {});

}  // namespace dikkat
