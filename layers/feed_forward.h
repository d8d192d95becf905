#pragma once

#include "autograd/ops/basic.h"
#include "layers/linear.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// Two linear layers with an activation between: (..., C) to (..., n_hidden) to (..., C), which is kept until it is read.
struct FeedForward {
  Linear c_fc, c_proj;
  Activation activation;

  FeedForward(const Scope& s, const TransformerConfig& c)
      : c_fc(s / "c_fc", c.n_embd, c.n_hidden, c.bias, weight_std(c, c.n_embd, c.n_hidden)),
        c_proj(s / "c_proj", c.n_hidden, c.n_embd, c.bias, branch_end_std(c, c.n_embd, c.n_hidden)),
        activation(c.activation) {}

  Tensor operator()(Pass& pass, Tensor x) const {
    const Tensor h = c_fc(pass, x);
    if (pass.recompute != Recompute::none) {
      return activated_linear(activation, h, c_proj.weight, c_proj.bias, Keep::until_read);
    }
    return c_proj(pass, activation == Activation::relu ? relu(h) : gelu(h), Keep::until_read);
  }
};

}  // namespace dikkat
