#pragma once

#include <optional>
#include <string>

#include "autograd/ops/attention.h"
#include "autograd/ops/head_norm.h"
#include "layers/linear.h"
#include "layers/transformer_config.h"
#include "layers/value_embedding.h"

namespace dikkat {

/// RMSNorm of queries, of keys, or of both: of each head, or of all heads of a row at once.
struct HeadNorm {
  Parameter q, k;  // (head_size) each, or (n_head * head_size) and (n_kv_head * head_size)
  HeadNormOptions options;

  HeadNorm(const Scope& s, const TransformerConfig& c) : HeadNorm(s, c, c.qk_norm_over == QkNormOver::row) {}

  /// Normalizes q | k | v, which are columns of one tensor.
  Tensor of_all(Tensor qkv) const { return head_norm(qkv, q, k, options); }
  /// Normalizes the queries, and k | v, in tensors of their own.
  Tensor of_queries(Tensor x) const { return head_norm(x, q, {}, {.heads = options.heads, .key_heads = 0, .eps = options.eps}); }
  Tensor of_keys(Tensor kv) const { return head_norm(kv, {}, k, {.heads = 0, .key_heads = options.key_heads, .eps = options.eps}); }

 private:
  /// To the op, all heads of a row together are one head.
  HeadNorm(const Scope& s, const TransformerConfig& c, bool is_of_row)
      : q(s.param("q_norm.weight", {is_of_row ? c.n_head * c.head_size : *c.head_size}, Init::ones(), Decay::no, Role::vector)),
        k(s.param("k_norm.weight", {is_of_row ? c.n_kv_head * c.head_size : *c.head_size}, Init::ones(), Decay::no, Role::vector)),
        options{.heads = is_of_row ? 1 : c.n_head, .key_heads = is_of_row ? 1 : *c.n_kv_head, .eps = c.norm_eps} {}
};

/// The shared part of self- and cross-attention: in each head, queries attend to keys and get a weighted mean of the values.
struct MultiHead {
  std::string path;
  std::uint64_t site;
  index heads, key_heads, head_size;
  double scale;      // factor of the scores
  index window = 0;  // keys that a query sees at most; 0: all
  double dropout;    // probability, for the attention weights in training

  /// The configuration must come from checked() or with_defaults().
  MultiHead(const Scope& s, const TransformerConfig& c, index its_window = 0)
      : path(s.path()),
        site(s.site()),
        heads(c.n_head),
        key_heads(c.n_kv_head),
        head_size(c.head_size),
        scale(c.attention_scale),
        window(its_window),
        dropout(c.dropout) {
    require(c.head_size.is_set() || heads * head_size == c.n_embd, s.path(), ": ", heads, " heads for width ", c.n_embd,
            ", expected a number of heads that divides it");
  }

  index query_width() const { return heads * head_size; }
  index key_width() const { return key_heads * head_size; }

  /// Restricts the keys that queries see, and holds positions and earlier keys. By default it is empty.
  struct Context {
    Tensor key_begin{};                     // i32 (B, queries), query i sees keys starting at key_begin[b, i]; absent: all
    Tensor key_end{};                       // i32 (B, queries), query i sees keys below key_end[b, i]; absent: all
    Tensor key_batch{};                     // i32 (B), the row of keys and values that row b sees; absent: row b
    Tensor rotation{};                      // rotary positions of queries and keys, or absent
    const AttentionCache* cache = nullptr;  // earlier keys and values, or null
  };

  /// q has query_width() columns, k and v have key_width().
  Tensor operator()(Pass& pass, HeadColumns q, HeadColumns k, HeadColumns v, bool causal, const Context& context) const {
    const AttentionOptions options{.heads = heads,
                                   .head_size = head_size,
                                   .key_heads = key_heads,
                                   .rotation = context.rotation,
                                   .scale = scale,
                                   .causal = causal,
                                   .window = window,
                                   .key_begin = context.key_begin,
                                   .key_end = context.key_end,
                                   .key_batch = context.key_batch,
                                   .dropout = pass.training ? dropout : 0,
                                   .stream = pass.stream(site),
                                   .first_batch = pass.first_sequence,
                                   .keys = pass.keys,
                                   .cache = context.cache};
    if (pass.attention_observer != nullptr) {
      (*pass.attention_observer)(path, attention_weights(q, k, options));
    }
    return attention(q, k, v, options);
  }
};

/// Multi-head attention of a sequence to itself: (B, T, C) to (B, T, C). The result has Lifetime::until_consumed.
struct SelfAttention {
  MultiHead heads;
  bool causal;            // position t sees positions up to t
  Linear c_attn, c_proj;  // rows of c_attn: q | k | v
  std::optional<HeadNorm> norm;
  std::optional<ValueEmbedding> values;

  SelfAttention(const Scope& s, const TransformerConfig& c, bool is_causal, bool value_embedding = false, index window = 0)
      : heads(s, c, window),
        causal(is_causal),
        c_attn(s / "c_attn", c.n_embd, heads.query_width() + 2 * heads.key_width(), c.qkv_bias,
               weight_std(c, c.n_embd, heads.query_width()), {heads.query_width(), heads.key_width(), heads.key_width()}),
        c_proj(s / "c_proj", heads.query_width(), c.n_embd, c.bias, branch_end_std(c, heads.query_width(), c.n_embd)) {
    if (c.qk_norm) {
      norm.emplace(s, c);
    }
    if (value_embedding) {
      values.emplace(s, c);
    }
  }

  /// Makes a layer for a model of one's own: `width` columns in n_head heads, with the initial values of a small GPT.
  SelfAttention(const Scope& s, index width, index n_head, bool is_causal, double dropout = 0)
      : SelfAttention(s, with_defaults({.n_layer = 1, .n_head = n_head, .n_embd = width, .dropout = dropout}), is_causal) {}

  /// Attends from x to itself. tokens: those that x was made from, i32 (B, T); only value embeddings read them.
  Tensor operator()(Pass& pass, Tensor x, const MultiHead::Context& context = {}, Tensor tokens = {}) const {
    const Tensor read = cast(x, pass.operand_type(x));
    const Tensor product = c_attn(pass, read);
    const Tensor normed = norm ? norm->of_all(product) : product;
    require(!values || tokens, heads.path, ": value embeddings without tokens, expected those of x, (B, T)");
    const Tensor qkv = values ? (*values)(normed, read, tokens) : normed;
    const index q = heads.query_width();
    return c_proj(pass, heads(pass, {qkv, 0}, {qkv, q}, {qkv, q + heads.key_width()}, causal, context), Lifetime::until_consumed);
  }
};

/// The other sequence, to which cross-attention attends.
struct CrossInputs {
  Tensor encoder_output{};   // (B, S, C)
  Tensor keys_and_values{};  // k | v of encoder_output, computed before; absent: they are computed here
  Tensor key_end{};          // as in MultiHead::Context
  Tensor key_batch{};
};

/// Multi-head attention of x (B, T, C) to another sequence: (B, T, C). The result has Lifetime::until_consumed.
struct CrossAttention {
  MultiHead heads;
  Linear q_attn, c_attn, c_proj;  // rows of c_attn: k | v
  std::optional<HeadNorm> norm;

  CrossAttention(const Scope& s, const TransformerConfig& c)
      : heads(s, c),
        q_attn(s / "q_attn", c.n_embd, heads.query_width(), c.qkv_bias, weight_std(c, c.n_embd, heads.query_width())),
        c_attn(s / "c_attn", c.n_embd, 2 * heads.key_width(), c.qkv_bias, weight_std(c, c.n_embd, heads.key_width()),
               {heads.key_width(), heads.key_width()}),
        c_proj(s / "c_proj", heads.query_width(), c.n_embd, c.bias, branch_end_std(c, heads.query_width(), c.n_embd)) {
    if (c.qk_norm) {
      norm.emplace(s, c);
    }
  }

  /// Computes the k | v of an encoder's output (B, S, C): (B, S, 2 key_width()).
  Tensor keys_and_values(Pass& pass, Tensor encoder_output) const {
    const Tensor product = c_attn(pass, encoder_output);
    return norm ? norm->of_keys(product) : product;
  }

  Tensor operator()(Pass& pass, Tensor x, const CrossInputs& inputs) const {
    const Tensor product = q_attn(pass, x);
    const Tensor q = norm ? norm->of_queries(product) : product;
    const Tensor kv = inputs.keys_and_values ? inputs.keys_and_values : keys_and_values(pass, inputs.encoder_output);
    const MultiHead::Context context{.key_end = inputs.key_end, .key_batch = inputs.key_batch};
    return c_proj(pass, heads(pass, {q, 0}, {kv, 0}, {kv, heads.key_width()}, false, context), Lifetime::until_consumed);
  }
};

}  // namespace dikkat
