#pragma once

#include "layers/models/encoder_decoder.h"
#include "tests/layers/tiny_gpt.h"

namespace dikkat {

/// An encoder-decoder with its weights, and a batch of sources and targets of different lengths.
struct TinyEncoderDecoder {
  static constexpr index kRows = 3, kSource = 11, kTarget = 9;

  ParameterStore store;
  EncoderDecoder model;
  std::vector<std::int32_t> source, source_lengths{11, 4, 7}, inputs, targets;

  explicit TinyEncoderDecoder(const TransformerConfig& config, DType dtype = DType::f32)
      : store(dtype),
        model(Scope(store), config),
        source(some_tokens(kRows * kSource, config.vocab_size, 1)),
        inputs(some_tokens(kRows * kTarget, config.vocab_size, 2)),
        targets(some_tokens(kRows * kTarget, config.vocab_size, 3)) {
    store.allocate(1);
  }

  Tensor logits(Pass& pass) const {
    const auto encoded =
        model.encode(pass, pass.tape.input<std::int32_t>({kRows, kSource}, source), pass.tape.input<std::int32_t>({kRows}, source_lengths));
    return model.logits(pass, model.features(pass, pass.tape.input<std::int32_t>({kRows, kTarget}, inputs), encoded));
  }
  std::vector<float> logits() const {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const Tensor y = logits(pass);
    return {y.data<float>(), y.data<float>() + y.size()};
  }
  Tensor loss(Pass& pass) const {
    return cross_entropy(logits(pass), pass.tape.input<std::int32_t>({kRows, kTarget}, targets), {.label_smoothing = 0.1});
  }
};

inline constexpr TransformerConfig kTinyEncoderDecoder{
    .n_layer = 2, .n_encoder_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 12, .vocab_size = 23, .dropout = 0.1};

}  // namespace dikkat
