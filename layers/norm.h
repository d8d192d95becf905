#pragma once

#include <optional>

#include "autograd/ops/layer_norm.h"
#include "layers/pass.h"
#include "layers/scope.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// Normalizes the last axis, (..., width): layer norm, or RMSNorm, which has no bias.
struct Norm {
  NormKind kind;
  double eps;
  Parameter weight, bias;  // (width) each

  explicit Norm(const Scope& s, index width, bool with_bias = true, NormKind norm_kind = NormKind::layer_norm, double epsilon = 1e-5)
      : kind(norm_kind),
        eps(epsilon),
        weight(s.param("weight", {width}, Init::ones(), Decay::no, Role::vector)),
        bias(with_bias && kind == NormKind::layer_norm ? s.param("bias", {width}, Init::zeros(), Decay::no, Role::vector) : Parameter{}) {}
  /// Makes a norm of the residual stream, as the configuration describes it.
  Norm(const Scope& s, const TransformerConfig& c) : Norm(s, c.n_embd, c.bias, c.norm, c.norm_eps) {}

  /// The result has the element type of x, or `dtype`.
  Tensor operator()(Pass&, Tensor x, std::optional<DType> dtype = {}, Lifetime lifetime = Lifetime::until_reset) const {
    const NormOptions options{.eps = eps, .dtype = dtype, .lifetime = lifetime};
    return kind == NormKind::rms_norm ? rms_norm(x, weight, options) : layer_norm(x, weight, bias, options);
  }
  /// Returns the sum residual + dropout(branch), and its norm.
  SumAndNorm operator()(Pass&, Tensor residual, Tensor branch, const DropoutOptions& dropout, std::optional<DType> dtype = {}) const {
    const NormOptions options{.eps = eps, .dtype = dtype};
    return kind == NormKind::rms_norm ? add_rms_norm(residual, branch, weight, dropout, options)
                                      : add_layer_norm(residual, branch, weight, bias, dropout, options);
  }
};

/// Returns the input of an output head: x, with the model's last norm if it has one, times a factor, in the element type that products
/// read.
inline Tensor head_input(Pass& pass, const std::optional<Norm>& norm, Tensor x, double factor = 1) {
  const DType dtype = pass.operand_type(x);
  if (factor != 1) {
    return cast(scale(norm ? (*norm)(pass, x) : x, factor), dtype);
  }
  return norm ? (*norm)(pass, x, dtype) : cast(x, dtype);
}

}  // namespace dikkat
