#pragma once

#include <optional>

#include "layers/embedding.h"
#include "layers/stack.h"

namespace dikkat {

/// The encoder-decoder transformer (Vaswani et al. 2017). The encoder reads a source; the decoder reads a target from left to right,
/// looking at the encoder's output through cross-attention, and says what comes next. Both are stacks as GPT's.
/// Weights begin as Glorot and Bengio (2010) have them, normal with variance 2 / (in + out); token rows with variance 1 / C.
class EncoderDecoder {
 public:
  /// Throws Error when the configuration makes no model, as checked() says; config.kind is not read.
  EncoderDecoder(const Scope& s, const TransformerConfig& config);

  /// What the decoder looks at: the encoder's output (B, S, C) and how many positions of each row are text, i32 (B); absent: all.
  struct Memory {
    Tensor x;
    Tensor lengths{};
  };

  /// Source tokens (B, S) of i32, padded behind; lengths i32 (B), or absent where there is no padding. What is padding is never
  /// looked at. Throws Error for S outside of 1 to block_size, other shapes, lengths outside of 0 to S, unknown tokens.
  Memory encode(Pass& pass, Tensor source, Tensor lengths = {}) const;
  /// Target tokens (B, T), which begin with the start mark, to what the output head reads, (B, T, C). Each row of the targets sees
  /// its own memory. Throws Error as encode() does.
  Tensor features(Pass& pass, Tensor targets, const Memory& memory, Tensor target_lengths = {}) const;
  /// (..., C) to logits (..., V).
  Tensor logits(Pass& pass, Tensor features) const;
  /// The output head's weight, (V, C).
  Tensor head() const { return head_; }

  /// With every default computed.
  const TransformerConfig& config() const { return config_; }

 private:
  TransformerConfig config_;
  Embedding decoder_wte_;
  Parameter encoder_wte_;
  InputEmbedding encoder_embed_, decoder_embed_;
  Stack encoder_, decoder_;
  std::optional<LayerNorm> encoder_ln_f_, decoder_ln_f_;
  Parameter head_;  // (V, C)
};

}  // namespace dikkat
