#include "layers/models/gpt.h"

namespace dikkat {

Gpt::Gpt(const Scope& s, const TransformerConfig& config)
    : config_(checked(config, ModelKind::gpt)),
      wte_(s / "wte", config_.vocab_size, config_.n_embd, embedding_std(config_)),
      embed_(s, wte_.weight, config_),
      h_(s / "h", config_, {.layers = config_.n_layer}),
      head_(config_.classes > 0      ? output_layer(s / "score", config_.n_embd, config_.classes, head_std(config_))
            : config_.tie_embeddings ? wte_.weight
                                     : output_layer(s / "lm_head", config_.n_embd, config_.vocab_size, head_std(config_))) {
  if (config_.final_norm) {
    ln_f_.emplace(s / "ln_f", config_);
  }
}

void Gpt::require_tokens(Tensor tokens, index before) const {
  if (tokens.shape().rank() != 2 || tokens.size() == 0 || tokens.shape()[1] > config_.block_size - before) {
    fail("gpt: tokens are ", tokens.shape(), ", expected (B, T) with T from 1 to ",
         before > 0 ? concat(config_.block_size - before, ", what is left of ") : "", "the block size ", config_.block_size);
  }
}

Tensor Gpt::normed(Pass& pass, Tensor x) const { return head_input(pass, ln_f_, x, config_.classes > 0 ? 1 : config_.logit_scale); }

Tensor Gpt::features(Pass& pass, Tensor tokens, Tensor starts) const {
  require(tokens.shape().rank() == 2 && tokens.size() > 0, "gpt: tokens are ", tokens.shape(), ", expected (B, T)");
  require(starts.shape() == tokens.shape() && starts.dtype() == DType::i32, "gpt: starts are ", starts.shape(), ", expected i32 ",
          tokens.shape());
  const Tensor positions = pass.tape.make(tokens.shape(), DType::i32);
  for (index i = 0; i < tokens.size(); ++i) {
    const auto position = static_cast<std::int32_t>(i % tokens.shape()[1]) - starts.data<std::int32_t>()[i];
    require(0 <= position && position < config_.block_size, "gpt: a sequence in a row has position ", position, ", expected 0 to ",
            config_.block_size - 1, ", as its context has ", config_.block_size, " tokens");
    positions.mutable_data<std::int32_t>()[i] = position;
  }
  return normed(pass, h_(pass, embed_(pass, tokens, positions), {.key_begin = starts, .tokens = tokens}));
}

Tensor Gpt::features(Pass& pass, Tensor tokens, KeyValueCache& cache) const {
  require_tokens(tokens, 0);
  CachedSequences sequences(cache, tokens.shape()[0]);
  return features(pass, tokens, &sequences);
}

Tensor Gpt::features(Pass& pass, Tensor tokens, CachedSequences* cache) const {
  require_tokens(tokens, cache != nullptr ? cache->longest() : 0);
  if (cache != nullptr) {
    require(cache->count() == tokens.shape()[0], "gpt: tokens are ", tokens.shape(), ", expected a row for each of ", cache->count(),
            " sequences");
    cache->reserve(tokens.shape()[1]);
  }
  const Tensor first = cache != nullptr ? cache->next_positions(pass.tape) : Tensor{};
  const Tensor x = h_(pass, embed_(pass, tokens, first), {.tokens = tokens, .cache = cache});
  if (cache != nullptr) {
    cache->advance(tokens.shape()[1]);
  }
  return normed(pass, x);
}

bool Gpt::has_relative_positions() const noexcept {
  return (config_.positions == Positions::rope && config_.rope_scaling != RopeScaling::longrope) || config_.positions == Positions::none;
}

DType Gpt::cache_type(std::optional<DType> dtype) const {
  const DType own = Tensor(head_).dtype();
  const DType type = dtype.value_or(own);
  require(type == own || (type == DType::bf16 && own == DType::f32), "gpt: a cache of ", type, ", expected ", own,
          own == DType::f32 ? " or bf16" : "");
  return type;
}

KeyValueCache Gpt::cache(index sequences, std::optional<DType> dtype) const {
  return {config_.n_layer, sequences, config_.block_size, config_.n_kv_head * config_.head_size, cache_type(dtype), kFirstPositions};
}

std::size_t key_value_bytes(const TransformerConfig& config, index positions, DType dtype) {
  return static_cast<std::size_t>(config.n_layer * positions * 2 * config.n_kv_head * config.head_size) * size_of(dtype);
}

Tensor Gpt::logits(Pass& pass, Tensor features) const {
  pass.tape.enter(Region::head);
  return softcap(linear(features, head_, {}, {.dtype = Tensor(head_).dtype()}), config_.classes > 0 ? 0 : config_.logit_softcap);
}

}  // namespace dikkat
