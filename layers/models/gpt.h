#pragma once

#include <cstddef>
#include <optional>

#include "layers/embedding.h"
#include "layers/stack.h"

namespace dikkat {

/// A decoder-only transformer: token embedding, a causal stack, a final norm and a linear output head without bias. By default it is GPT-2
/// (Radford et al. 2019); the keys of TransformerConfig also make it a Llama, a Qwen, or a mixture of these.
/// With config.classes, the head has a row for each label of a text instead of each token, is named "score", and its logits are neither
/// scaled nor capped, as in transformers.
/// Weights are initialized as GPT-2's: normal with standard deviation 0.02; projections into the residual stream with 0.02 / sqrt(2
/// n_layer).
class Gpt {
 public:
  /// Throws Error as checked() does. config.kind is ignored.
  Gpt(const Scope& s, const TransformerConfig& config);

  /// Maps tokens (B, T) of i32, 1 <= T <= block_size, to logits (B, T, V). Throws Error for any other shape and for unknown tokens.
  Tensor operator()(Pass& pass, Tensor tokens) const { return logits(pass, features(pass, tokens)); }
  /// Maps tokens (B, T) to the features that the output head reads, (B, T, C), in the element type that products read. logits() maps
  /// features (..., C) to logits (..., V), or (..., classes).
  Tensor features(Pass& pass, Tensor tokens) const { return features(pass, tokens, static_cast<CachedSequences*>(nullptr)); }
  Tensor logits(Pass& pass, Tensor features) const;
  /// Computes features() for rows that hold several sequences: `starts`, i32 (B, T), has the position in the row where each token's
  /// sequence begins. A token sees only its own sequence, and its position counts from there. A row may be longer than block_size, but no
  /// sequence.
  Tensor features(Pass& pass, Tensor tokens, Tensor starts) const;
  /// Computes features() for the tokens after those in the cache, in its first B sequences, and adds them to it. T is at most block_size
  /// minus the longest of their lengths. The tape must not record.
  Tensor features(Pass& pass, Tensor tokens, KeyValueCache& cache) const;
  /// Computes features() for the tokens after those in B sequences of any caches.
  Tensor features(Pass& pass, Tensor tokens, CachedSequences& sequences) const { return features(pass, tokens, &sequences); }
  static constexpr index kFirstPositions = 1024;  // most texts are short, and a context may be very long
  /// Returns an empty cache for `sequences` sequences of up to block_size positions. It has memory for kFirstPositions positions at first,
  /// which grows with the longest sequence. Keys and values are stored as `dtype`, by default as the model's products are read; bf16 takes
  /// half the memory of f32. Throws Error if there is not enough memory, and for a type that attention() does not read.
  KeyValueCache cache(index sequences, std::optional<DType> dtype = {}) const;
  /// Returns the type of keys and values in cache(): `dtype`, or that of the model. Throws Error as cache() does.
  DType cache_type(std::optional<DType> dtype) const;
  /// Returns whether keys and values of a sequence stay valid when its first tokens are dropped from a cache: positions matter only by
  /// their differences. Not with learned or sinusoidal positions, nor with longrope, whose factors hold for short texts.
  bool has_relative_positions() const noexcept;
  /// Returns the output head's weight, (V, C), or (classes, C).
  Tensor head() const { return head_; }

  /// Returns the configuration with all defaults computed.
  const TransformerConfig& config() const { return config_; }

 private:
  Tensor features(Pass& pass, Tensor tokens, CachedSequences* cache) const;
  void require_tokens(Tensor tokens, index before) const;
  Tensor normed(Pass& pass, Tensor x) const;

  TransformerConfig config_;
  Embedding wte_;
  InputEmbedding embed_;
  Stack h_;
  std::optional<Norm> ln_f_;
  Parameter head_;  // (V, C) or (classes, C)
};

/// Returns the bytes of a sequence's keys and values of `positions` positions, for a configuration as Gpt::config() returns it.
std::size_t key_value_bytes(const TransformerConfig& config, index positions, DType dtype);

}  // namespace dikkat
