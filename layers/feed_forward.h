#pragma once

#include <vector>

#include "autograd/ops/activation.h"
#include "layers/linear.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// Two linear layers with an activation between: (..., C) to (..., n_hidden) to (..., C). If it is gated, the rows of the first layer are
/// gate | up, and its result is f(gate) * up. The result has Lifetime::until_consumed.
struct FeedForward {
  Linear c_fc, c_proj;
  Nonlinearity nonlinearity;

  FeedForward(const Scope& s, const TransformerConfig& c)
      : c_fc(s / "c_fc", c.n_embd, c.gated ? 2 * c.n_hidden : *c.n_hidden, c.bias, weight_std(c, c.n_embd, c.n_hidden),
             c.gated ? std::vector<index>{c.n_hidden, c.n_hidden} : std::vector<index>{}),
        c_proj(s / "c_proj", c.n_hidden, c.n_embd, c.bias, branch_end_std(c, c.n_embd, c.n_hidden)),
        nonlinearity{c.activation, c.gated} {}

  Tensor operator()(Pass& pass, Tensor x) const {
    const Tensor h = c_fc(pass, x);
    if (pass.recompute != Recompute::none && !c_proj.adapter) {
      return activated_linear(nonlinearity, h, c_proj.weight, c_proj.bias, Lifetime::until_consumed);
    }
    return c_proj(pass, activate(nonlinearity, h), Lifetime::until_consumed);
  }
};

}  // namespace dikkat
