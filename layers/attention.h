#pragma once

#include "autograd/ops/attention.h"
#include "layers/linear.h"

namespace dikkat {

struct AttentionConfig {
  index width = 0;   // C
  index heads = 1;   // H, divides C
  bool bias = true;  // on the output projection
  bool qkv_bias = true;
  double dropout = 0;            // on the weights, in training
  double std = 0.02;             // of c_attn's first weights
  double projection_std = 0.02;  // of c_proj's
};

/// Causal multi-head self-attention: (B, T, C) to (B, T, C).
struct CausalSelfAttention {
  AttentionConfig config;
  std::uint64_t site;
  Linear c_attn, c_proj;  // rows of c_attn: q | k | v

  CausalSelfAttention(const Scope& s, const AttentionConfig& c)
      : config(c),
        site(s.site()),
        c_attn(s / "c_attn", c.width, 3 * c.width, c.qkv_bias, c.std),
        c_proj(s / "c_proj", c.width, c.width, c.bias, c.projection_std) {
    require(c.heads >= 1 && c.width % c.heads == 0, s.path(), ": ", c.heads, " heads for width ", c.width,
            ", expected heads that divide it");
  }

  Tensor operator()(Pass& pass, Tensor x) const {
    const Tensor y = self_attention(c_attn(pass, x), {.heads = config.heads,
                                                      .head_size = config.width / config.heads,
                                                      .causal = true,
                                                      .dropout = pass.training ? config.dropout : 0,
                                                      .stream = pass.stream(site),
                                                      .first_batch = pass.first_sequence});
    return c_proj(pass, y);
  }
};

}  // namespace dikkat
