#pragma once

#include <optional>

#include "autograd/ops/layer_norm.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// Normalises the last axis, (..., width); eps 1e-5.
struct LayerNorm {
  Parameter weight, bias;  // (width) each

  LayerNorm(const Scope& s, index width, bool with_bias)
      : weight(s.param("weight", {width}, Init::ones(), Decay::no, Role::vector)),
        bias(with_bias ? s.param("bias", {width}, Init::zeros(), Decay::no, Role::vector) : Parameter{}) {}

  /// In the element type of x, or in another one.
  Tensor operator()(Pass&, Tensor x, std::optional<DType> dtype = {}) const { return layer_norm(x, weight, bias, {.dtype = dtype}); }
  /// The sum residual + dropout(branch), and its norm.
  SumAndNorm operator()(Pass&, Tensor residual, Tensor branch, const DropoutOptions& dropout, std::optional<DType> dtype = {}) const {
    return add_layer_norm(residual, branch, weight, bias, dropout, {.dtype = dtype});
  }
};

}  // namespace dikkat
