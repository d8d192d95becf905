#pragma once

#include "autograd/ops/basic.h"
#include "layers/linear.h"

namespace dikkat {

struct FeedForwardConfig {
  index width = 0;   // C
  index hidden = 0;  // between the two layers
  Activation activation = Activation::gelu;
  bool bias = true;
  double std = 0.02;             // of c_fc's first weights
  double projection_std = 0.02;  // of c_proj's
};

/// Two linear layers with an activation between: (..., width) to (..., hidden) to (..., width).
struct FeedForward {
  Linear c_fc, c_proj;
  Activation activation;

  FeedForward(const Scope& s, const FeedForwardConfig& c)
      : c_fc(s / "c_fc", c.width, c.hidden, c.bias, c.std),
        c_proj(s / "c_proj", c.hidden, c.width, c.bias, c.projection_std),
        activation(c.activation) {}

  Tensor operator()(Pass& pass, Tensor x) const {
    const Tensor h = c_fc(pass, x);
    if (pass.recompute != Recompute::none) {
      return activated_linear(activation, h, c_proj.weight, c_proj.bias);
    }
    return c_proj(pass, activation == Activation::relu ? relu(h) : gelu(h));
  }
};

}  // namespace dikkat
