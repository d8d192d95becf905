#pragma once

#include <optional>

#include "autograd/ops/linear.h"
#include "layers/dropout.h"
#include "layers/lora_config.h"
#include "layers/scope.h"

namespace dikkat {

/// The adapter of a layer from `in` to `out`. B begins at 0, so at first the layer's result does not change. A is normal with the variance
/// 1 / (3 in), which is that of PEFT's uniform initial values.
struct Adapter {
  Parameter a, b;  // (rank, in), (out, rank)
  Dropout dropout;
  double scale;

  Adapter(const Scope& s, const LoraConfig& config, index in, index out);

  /// Returns the product that is added to the layer of x.
  LowRankProduct low_rank(Pass& pass, Tensor x) const { return {.a = a, .b = b, .scale = scale, .read = dropout(pass, x)}; }
};

/// Returns the adapter of the layer in this scope, if the scope's adapters (Scope::lora()) include it.
std::optional<Adapter> adapter_of(const Scope& s, index in, index out);

}  // namespace dikkat
