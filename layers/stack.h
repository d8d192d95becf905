#pragma once

#include <vector>

#include "layers/attention.h"
#include "layers/dropout.h"
#include "layers/feed_forward.h"
#include "layers/layer_norm.h"

namespace dikkat {

struct StackConfig {
  index layers = 0;
  AttentionConfig attention;
  index hidden = 0;    // of the feed-forward
  bool bias = true;    // of feed-forward and norms
  double dropout = 0;  // on each branch
};

/// [causal self-attention, feed-forward] x layers, pre-LN: each branch reads a normalised residual stream and adds to it.
/// (B, T, C) to (B, T, C), not normalised at the end.
struct Stack {
  struct Block {
    LayerNorm ln_1;
    CausalSelfAttention attn;
    LayerNorm ln_2;
    FeedForward mlp;
    Dropout attn_dropout, mlp_dropout;

    Block(const Scope& s, const StackConfig& c)
        : ln_1(s / "ln_1", c.attention.width, c.bias),
          attn(s / "attn", c.attention),
          ln_2(s / "ln_2", c.attention.width, c.bias),
          mlp(s / "mlp", c.attention.width, c.hidden, c.bias, c.attention.std, c.attention.projection_std),
          attn_dropout(s / "attn" / "dropout", c.dropout),
          mlp_dropout(s / "mlp" / "dropout", c.dropout) {}
  };
  std::vector<Block> blocks;

  Stack(const Scope& s, const StackConfig& c) {
    blocks.reserve(static_cast<std::size_t>(c.layers));
    for (index i = 0; i < c.layers; ++i) {
      blocks.emplace_back(s / i, c);
    }
  }

  Tensor operator()(Pass& pass, Tensor x) const {
    for (const Block& b : blocks) {
      x = add(x, b.attn_dropout(pass, b.attn(pass, b.ln_1(pass, x))));
      x = add(x, b.mlp_dropout(pass, b.mlp(pass, b.ln_2(pass, x))));
    }
    return x;
  }
};

}  // namespace dikkat
