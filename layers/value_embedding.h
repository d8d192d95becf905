#pragma once

#include "autograd/ops/value_embedding.h"
#include "layers/embedding.h"

namespace dikkat {

/// Adds to the values of self-attention, in each head of keys, a row that belongs to the token, times 2 sigmoid(W x[:12]). W begins at 0,
/// so each gate begins at 1.
struct ValueEmbedding {
  Embedding table;  // (vocabulary, columns of v)
  Parameter gate;   // (heads of keys, channels): W

  /// The configuration must come from checked() or with_defaults().
  ValueEmbedding(const Scope& s, const TransformerConfig& c)
      : table(s / "value_embedding", c.vocab_size, c.n_kv_head * c.head_size, weight_std(c, c.n_embd, c.n_kv_head * c.head_size)),
        gate((s / "value_gate").param("weight", {c.n_kv_head, value_gate_channels(c)}, Init::zeros(), Decay::yes, Role::hidden)) {}

  /// Returns qkv with the rows added: qkv (B, T, columns of q | k | v) and x (B, T, C) in the type that products read, tokens (B, T) of
  /// i32.
  Tensor operator()(Tensor qkv, Tensor x, Tensor tokens) const {
    return add_value_embedding(qkv, x, embedding(tokens, table.weight), gate);
  }
};

}  // namespace dikkat
