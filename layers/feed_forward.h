#pragma once

#include "autograd/ops/basic.h"
#include "layers/linear.h"

namespace dikkat {

/// Two linear layers with a GELU between: (..., width) to (..., hidden) to (..., width).
struct FeedForward {
  Linear c_fc, c_proj;

  FeedForward(const Scope& s, index width, index hidden, bool bias, double std, double projection_std)
      : c_fc(s / "c_fc", width, hidden, bias, std), c_proj(s / "c_proj", hidden, width, bias, projection_std) {}

  Tensor operator()(Pass& pass, Tensor x) const { return c_proj(pass, gelu(c_fc(pass, x))); }
};

}  // namespace dikkat
