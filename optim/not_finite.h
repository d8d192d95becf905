#pragma once

#include <string>

#include "optim/optimizer.h"

namespace dikkat {

/// The first tensor with a NaN or an infinity.
struct NotFinite {
  std::string tensor;  // "weight h.0.attn.c_attn.weight", "first moment of ...", "gradient of ..."; empty: all tensors are finite
  bool in_gradients = false;
};
/// Searches the weights first, then the optimizer's state, then gradients.
NotFinite first_not_finite(ParameterStore& parameters, Optimizer& optimizer);

}  // namespace dikkat
