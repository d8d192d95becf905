#pragma once

#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/layers/tiny_gpt.h"

namespace dikkat {

/// A model in training: everything that a step needs, kept from step to step.
struct Training {
  static constexpr index kSequences = 3;

  TinyGpt model;
  AdamW adamw;
  Tape tape;
  std::vector<std::int32_t> tokens, targets;
  Recompute recompute = Recompute::none;
  DType operands = DType::f32;

  explicit Training(const TransformerConfig& config)
      : model(config),
        adamw(model.store, {}),
        tokens(some_tokens(kSequences * config.block_size, config.vocab_size, 1)),
        targets(some_tokens(kSequences * config.block_size, config.vocab_size, 2)) {}

  /// Runs forward, backward, clipping and update; steps count from 1. Returns the loss.
  float step(index number) {
    const Shape shape{kSequences, model.gpt.config().block_size};
    Pass pass{.tape = tape,
              .training = true,
              .seed = 5,
              .step = static_cast<std::uint64_t>(number),
              .recompute = recompute,
              .operands = operands};
    const Tensor logits = model.gpt(pass, tape.input<std::int32_t>(shape, tokens));
    const Tensor loss = cross_entropy(logits, tape.input<std::int32_t>(shape, targets));
    tape.backward(loss);
    const float value = *loss.data<float>();
    tape.reset();
    adamw.step(number, 1e-2, clip_factor(gradient_norm(model.store), 1.0));
    return value;
  }
};

/// The lengths take two tiles of attention, and several of everything else; there is dropout everywhere.
inline constexpr TransformerConfig kTrainingConfig{
    .n_layer = 2, .n_head = 2, .n_embd = 48, .block_size = 80, .vocab_size = 97, .dropout = 0.1};
/// kTrainingConfig with every part of the Llama family: three heads of queries for each head of keys, and a head size that does not follow
/// from the width.
inline constexpr TransformerConfig kTrainingLlama{.n_layer = 2,
                                                  .n_head = 6,
                                                  .n_kv_head = 2,
                                                  .n_embd = 48,
                                                  .head_size = 10,
                                                  .block_size = 80,
                                                  .vocab_size = 97,
                                                  .dropout = 0.1,
                                                  .bias = false,
                                                  .qkv_bias = true,
                                                  .positions = Positions::rope,
                                                  .norm = NormKind::rms_norm,
                                                  .qk_norm = true,
                                                  .rope_scaling = RopeScaling::llama3,
                                                  .rope_factor = 4,
                                                  .rope_original_context = 40,
                                                  .activation = Activation::silu,
                                                  .gated = true,
                                                  .logit_softcap = 10};
/// A Gemma 3: norms before and after the branches, windows in two of three layers with a base of their own; also every factor, and layers
/// without positions.
inline constexpr TransformerConfig kTrainingGemma{.n_layer = 3,
                                                  .n_head = 4,
                                                  .n_kv_head = 1,
                                                  .n_embd = 48,
                                                  .head_size = 16,
                                                  .block_size = 80,
                                                  .vocab_size = 97,
                                                  .dropout = 0.1,
                                                  .bias = false,
                                                  .scale_embeddings = true,
                                                  .embedding_scale = 0.5,
                                                  .positions = Positions::rope,
                                                  .norm_position = NormPosition::sandwich,
                                                  .norm = NormKind::rms_norm,
                                                  .qk_norm = true,
                                                  .attention_scale = 0.3,
                                                  .window = 20,
                                                  .window_pattern = 3,
                                                  .rope_theta = 1'000'000,
                                                  .rope_theta_local = 10'000,
                                                  .activation = Activation::gelu,
                                                  .gated = true,
                                                  .residual_scale = 0.5,
                                                  .logit_scale = 2};
/// An OLMo 2: norms only after the branches, and of whole rows of queries and keys; also partial rotation, and layers without positions.
inline constexpr TransformerConfig kTrainingOlmo{.n_layer = 2,
                                                 .n_head = 4,
                                                 .n_kv_head = 2,
                                                 .n_embd = 48,
                                                 .block_size = 80,
                                                 .vocab_size = 97,
                                                 .dropout = 0.1,
                                                 .bias = false,
                                                 .tie_embeddings = false,
                                                 .positions = Positions::rope,
                                                 .norm_position = NormPosition::branch,
                                                 .norm = NormKind::rms_norm,
                                                 .qk_norm = true,
                                                 .qk_norm_over = QkNormOver::row,
                                                 .rope_share = 0.5,
                                                 .rope_amplitude = 1.2,
                                                 .rope_pattern = 2,
                                                 .activation = Activation::silu,
                                                 .gated = true};
/// kTrainingConfig with nanochat's options for small models, and layers with and without value embeddings.
inline constexpr TransformerConfig kTrainingNanochat{.n_layer = 3,
                                                     .n_head = 4,
                                                     .n_kv_head = 2,
                                                     .n_embd = 48,
                                                     .head_size = 10,
                                                     .block_size = 80,
                                                     .vocab_size = 97,
                                                     .dropout = 0.1,
                                                     .bias = false,
                                                     .tie_embeddings = false,
                                                     .positions = Positions::rope,
                                                     .norm = NormKind::rms_norm,
                                                     .qk_norm = true,
                                                     .activation = Activation::relu2,
                                                     .logit_softcap = 15,
                                                     .embedding_norm = true,
                                                     .residual_scalars = true,
                                                     .value_embeddings = ValueEmbeddings::alternate,
                                                     .zero_init_projections = true,
                                                     .zero_head = true};

}  // namespace dikkat
