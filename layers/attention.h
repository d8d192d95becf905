#pragma once

#include <string>

#include "autograd/ops/attention.h"
#include "layers/linear.h"

namespace dikkat {

struct AttentionConfig {
  index width = 0;   // C
  index heads = 1;   // H, divides C
  bool bias = true;  // on the output projection
  bool qkv_bias = true;
  double dropout = 0;            // on the weights, in training
  double std = 0.02;             // of the first weights of query, key and value
  double projection_std = 0.02;  // of c_proj's
};

/// What self- and cross-attention have in common: queries look at keys and take a mixture of the values, head by head.
struct MultiHead {
  std::string path;
  std::uint64_t site;
  AttentionConfig config;

  MultiHead(const Scope& s, const AttentionConfig& c) : path(s.path()), site(s.site()), config(c) {
    require(c.heads >= 1 && c.width % c.heads == 0, s.path(), ": ", c.heads, " heads for width ", c.width,
            ", expected heads that divide it");
  }

  /// key_end: i32 (B, queries), query i sees keys below it; absent: all. cache: of earlier keys and values, or null.
  Tensor operator()(Pass& pass, HeadColumns q, HeadColumns k, HeadColumns v, bool causal, Tensor key_end,
                    const AttentionCache* cache = nullptr) const {
    const AttentionOptions options{.heads = config.heads,
                                   .head_size = config.width / config.heads,
                                   .causal = causal,
                                   .key_end = key_end,
                                   .dropout = pass.training ? config.dropout : 0,
                                   .stream = pass.stream(site),
                                   .first_batch = pass.first_sequence,
                                   .cache = cache};
    if (pass.attention_observer != nullptr) {
      (*pass.attention_observer)(path, attention_weights(q, k, options));
    }
    return attention(q, k, v, options);
  }
};

/// Multi-head attention of a sequence to itself: (B, T, C) to (B, T, C).
struct SelfAttention {
  MultiHead heads;
  bool causal;            // position t sees positions up to t
  Linear c_attn, c_proj;  // rows of c_attn: q | k | v

  SelfAttention(const Scope& s, const AttentionConfig& c, bool is_causal)
      : heads(s, c),
        causal(is_causal),
        c_attn(s / "c_attn", c.width, 3 * c.width, c.qkv_bias, c.std, {c.width, c.width, c.width}),
        c_proj(s / "c_proj", c.width, c.width, c.bias, c.projection_std) {}

  Tensor operator()(Pass& pass, Tensor x, Tensor key_end = {}, const AttentionCache* cache = nullptr) const {
    const Tensor qkv = c_attn(pass, x);
    const index width = heads.config.width;
    return c_proj(pass, heads(pass, {qkv, 0}, {qkv, width}, {qkv, 2 * width}, causal, key_end, cache));
  }
};

/// Multi-head attention of x (B, T, C) to another sequence, memory (B, S, C): (B, T, C).
struct CrossAttention {
  MultiHead heads;
  Linear q_attn, c_attn, c_proj;  // rows of c_attn: k | v

  CrossAttention(const Scope& s, const AttentionConfig& c)
      : heads(s, c),
        q_attn(s / "q_attn", c.width, c.width, c.qkv_bias, c.std),
        c_attn(s / "c_attn", c.width, 2 * c.width, c.qkv_bias, c.std, {c.width, c.width}),
        c_proj(s / "c_proj", c.width, c.width, c.bias, c.projection_std) {}

  Tensor operator()(Pass& pass, Tensor x, Tensor memory, Tensor key_end = {}) const {
    const Tensor q = q_attn(pass, x);
    const Tensor kv = c_attn(pass, memory);
    return c_proj(pass, heads(pass, {q, 0}, {kv, 0}, {kv, heads.config.width}, false, key_end));
  }
};

}  // namespace dikkat
