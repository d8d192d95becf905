#pragma once

#include <algorithm>
#include <string>

#include "autograd/ops/attention.h"
#include "layers/linear.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// What self- and cross-attention have in common: in each head, queries attend to keys and get a weighted mean of the values.
struct MultiHead {
  std::string path;
  std::uint64_t site;
  index heads, head_size;
  double dropout;  // probability, for the attention weights in training

  MultiHead(const Scope& s, const TransformerConfig& c)
      : path(s.path()), site(s.site()), heads(c.n_head), head_size(c.n_embd / std::max<index>(c.n_head, 1)), dropout(c.dropout) {
    require(heads >= 1 && heads * head_size == c.n_embd, s.path(), ": ", heads, " heads for width ", c.n_embd,
            ", expected a number of heads that divides it");
  }

  /// q, k and v have heads * head_size columns. key_end: i32 (B, queries), query i sees keys below key_end[b, i]; absent: all. cache:
  /// earlier keys and values, or null.
  Tensor operator()(Pass& pass, HeadColumns q, HeadColumns k, HeadColumns v, bool causal, Tensor key_end,
                    const AttentionCache* cache = nullptr) const {
    const AttentionOptions options{.heads = heads,
                                   .head_size = head_size,
                                   .causal = causal,
                                   .key_end = key_end,
                                   .dropout = pass.training ? dropout : 0,
                                   .stream = pass.stream(site),
                                   .first_batch = pass.first_sequence,
                                   .cache = cache};
    if (pass.attention_observer != nullptr) {
      (*pass.attention_observer)(path, attention_weights(q, k, options));
    }
    return attention(q, k, v, options);
  }
};

/// Multi-head attention of a sequence to itself: (B, T, C) to (B, T, C), which is kept until it is read.
struct SelfAttention {
  MultiHead heads;
  bool causal;            // position t sees positions up to t
  Linear c_attn, c_proj;  // rows of c_attn: q | k | v

  SelfAttention(const Scope& s, const TransformerConfig& c, bool is_causal)
      : heads(s, c),
        causal(is_causal),
        c_attn(s / "c_attn", c.n_embd, 3 * c.n_embd, c.qkv_bias, weight_std(c, c.n_embd, c.n_embd), {c.n_embd, c.n_embd, c.n_embd}),
        c_proj(s / "c_proj", c.n_embd, c.n_embd, c.bias, branch_end_std(c, c.n_embd, c.n_embd)) {}

  Tensor operator()(Pass& pass, Tensor x, Tensor key_end = {}, const AttentionCache* cache = nullptr) const {
    const Tensor qkv = c_attn(pass, x);
    const index width = heads.heads * heads.head_size;
    return c_proj(pass, heads(pass, {qkv, 0}, {qkv, width}, {qkv, 2 * width}, causal, key_end, cache), Keep::until_read);
  }
};

/// Multi-head attention of x (B, T, C) to another sequence, memory (B, S, C): (B, T, C), which is kept until it is read.
struct CrossAttention {
  MultiHead heads;
  Linear q_attn, c_attn, c_proj;  // rows of c_attn: k | v

  CrossAttention(const Scope& s, const TransformerConfig& c)
      : heads(s, c),
        q_attn(s / "q_attn", c.n_embd, c.n_embd, c.qkv_bias, weight_std(c, c.n_embd, c.n_embd)),
        c_attn(s / "c_attn", c.n_embd, 2 * c.n_embd, c.qkv_bias, weight_std(c, c.n_embd, c.n_embd), {c.n_embd, c.n_embd}),
        c_proj(s / "c_proj", c.n_embd, c.n_embd, c.bias, branch_end_std(c, c.n_embd, c.n_embd)) {}

  Tensor operator()(Pass& pass, Tensor x, Tensor memory, Tensor key_end = {}) const {
    const Tensor q = q_attn(pass, x);
    const Tensor kv = c_attn(pass, memory);
    return c_proj(pass, heads(pass, {q, 0}, {kv, 0}, {kv, heads.heads * heads.head_size}, false, key_end), Keep::until_read);
  }
};

}  // namespace dikkat
