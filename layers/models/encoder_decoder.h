#pragma once

#include <optional>
#include <span>
#include <vector>

#include "layers/embedding.h"
#include "layers/stack.h"

namespace dikkat {

/// The encoder-decoder transformer (Vaswani et al. 2017). The encoder reads a source. The decoder reads a target from left to right,
/// attends to the encoder's output through cross-attention, and predicts the next token. Both are stacks as in GPT. Weights are initialized
/// as by Glorot and Bengio (2010), normal with variance 2 / (in + out); token rows with variance 1 / C.
class EncoderDecoder {
 public:
  /// Throws Error as checked() does. config.kind is ignored.
  EncoderDecoder(const Scope& s, const TransformerConfig& config);

  /// The encoder's output (B, S, C), to which the decoder attends, and the number of positions of each row that are not padding, i32 (B);
  /// absent: all.
  struct EncoderOutput {
    Tensor x;
    Tensor lengths{};
  };

  /// Encodes source tokens (B, S) of i32, padded at the end; lengths i32 (B), or absent if there is no padding. Nothing attends to padding.
  /// Throws Error for S outside of 1 to block_size, other shapes, lengths outside of 0 to S, unknown tokens.
  EncoderOutput encode(Pass& pass, Tensor source, Tensor lengths = {}) const;
  /// Maps target tokens (B, T), which begin with the start token, to the features that the output head reads, (B, T, C). Row b of the
  /// targets attends to row b of `encoded`. Throws Error as encode() does.
  Tensor features(Pass& pass, Tensor targets, const EncoderOutput& encoded, Tensor target_lengths = {}) const;
  /// The keys and values of targets that are generated token by token, and of their sources.
  struct Cache {
    KeyValueCache targets;                // keys and values of the tokens so far
    KeyValueCache sources;                // keys and values of each source, for cross-attention
    std::vector<std::int32_t> lengths{};  // length of each source in `sources`
  };
  /// Returns an empty cache for `targets` targets of up to `positions` tokens, and for `sources` sources of up to `source_positions`.
  /// Throws Error if there is not enough memory.
  Cache cache(index targets, index positions, index sources, index source_positions) const;
  /// Computes the keys and values of one encoded source without padding, and adds them to the cache. The tape must not record.
  void add_source(Pass& pass, const EncoderOutput& encoded, Cache& cache) const;
  /// Computes features() of the tokens after those in the cache, and adds them to it. Row b attends to source sources[b] of the cache, so
  /// targets may share a source. B is at most the number of the cache's targets. The tape must not record.
  Tensor features(Pass& pass, Tensor targets, std::span<const std::int32_t> sources, Cache& cache) const;
  /// Maps features (..., C) to logits (..., V).
  Tensor logits(Pass& pass, Tensor features) const;
  /// Returns the output head's weight, (V, C).
  Tensor head() const { return head_; }

  /// Returns the configuration with all defaults computed.
  const TransformerConfig& config() const { return config_; }

 private:
  Tensor decode(Pass& pass, Tensor targets, const StackInputs& inputs) const;

  TransformerConfig config_;
  Embedding decoder_wte_;
  Parameter encoder_wte_;
  InputEmbedding encoder_embed_, decoder_embed_;
  Stack encoder_, decoder_;
  std::optional<Norm> encoder_ln_f_, decoder_ln_f_;
  Parameter head_;  // (V, C)
};

}  // namespace dikkat
