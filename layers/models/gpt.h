#pragma once

#include <optional>

#include "layers/embedding.h"
#include "layers/stack.h"

namespace dikkat {

struct GptConfig {
  index n_layer = 4;
  index n_head = 4;
  index n_embd = 128;  // C
  index n_hidden = 0;  // of the feed-forward; 0: 4 C
  index block_size = 64;
  index vocab_size = 0;  // V
  double dropout = 0;
  bool bias = true;            // of Linear and LayerNorm
  bool qkv_bias = true;        // of query, key and value
  bool tie_embeddings = true;  // the output head is the token table
  Norm norm = Norm::pre;
  bool final_norm = true;  // after the stack
  Activation activation = Activation::gelu;
  InputConfig::Positions positions = InputConfig::Positions::learned;
  bool scale_embeddings = false;  // tokens' rows times sqrt(C)
};

/// GPT-2 (Radford et al. 2019): token + position embedding, a pre-LN stack, a final norm and a linear output head without bias.
/// Weights begin as GPT-2's: normal with 0.02, projections into the residual stream with 0.02 / sqrt(2 n_layer).
class Gpt {
 public:
  /// Throws Error when the configuration makes no model (heads that do not divide the width, sizes below 1,
  /// dropout outside of [0, 1)).
  Gpt(const Scope& s, const GptConfig& config);

  /// Tokens (B, T) of i32, 1 <= T <= block_size, to logits (B, T, V). Throws Error for any other shape and for unknown tokens.
  Tensor operator()(Pass& pass, Tensor tokens) const { return logits(pass, features(pass, tokens)); }
  /// The two halves of it: tokens (B, T) to what the output head reads, (B, T, C); and that, (..., C), to logits (..., V).
  Tensor features(Pass& pass, Tensor tokens) const { return features(pass, tokens, nullptr); }
  Tensor logits(Pass& pass, Tensor features) const;
  /// The same for tokens that follow those in the cache, B sequences of it at most, which are then in it too: T may be up to block_size
  /// less its length. The tape must not record.
  Tensor features(Pass& pass, Tensor tokens, KeyValueCache& cache) const { return features(pass, tokens, &cache); }
  /// An empty cache for `sequences` sequences. Throws Error where there is no memory for it.
  KeyValueCache cache(index sequences) const;
  /// The output head's weight, (V, C).
  Tensor head() const { return head_; }

  const GptConfig& config() const { return config_; }

 private:
  Tensor features(Pass& pass, Tensor tokens, KeyValueCache* cache) const;

  GptConfig config_;
  Embedding wte_;
  InputEmbedding embed_;
  Stack h_;
  std::optional<LayerNorm> ln_f_;
  Parameter head_;  // (V, C)
};

}  // namespace dikkat
