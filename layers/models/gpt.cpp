#include "layers/models/gpt.h"

namespace dikkat {

Gpt::Gpt(const Scope& s, const TransformerConfig& config)
    : config_(checked(config, ModelKind::gpt)),
      wte_(s / "wte", config_.vocab_size, config_.n_embd, embedding_std(config_)),
      embed_(s, wte_.weight, config_),
      h_(s / "h", config_, {.layers = config_.n_layer}),
      head_(config_.tie_embeddings ? wte_.weight : output_layer(s / "lm_head", config_.n_embd, config_.vocab_size, head_std(config_))) {
  if (config_.final_norm) {
    ln_f_.emplace(s / "ln_f", config_);
  }
}

Tensor Gpt::features(Pass& pass, Tensor tokens, KeyValueCache* cache) const {
  const bool is_batch = tokens.shape().rank() == 2 && tokens.size() > 0;
  const index before = cache != nullptr && is_batch ? cache->longest(tokens.shape()[0]) : 0;
  if (!is_batch || tokens.shape()[1] > config_.block_size - before) {
    fail("gpt: tokens are ", tokens.shape(), ", expected (B, T) with T from 1 to ",
         before > 0 ? concat(config_.block_size - before, ", what is left of ") : "", "the block size ", config_.block_size);
  }
  const Tensor first = cache != nullptr ? cache->lengths(pass.tape, tokens.shape()[0]) : Tensor{};
  const Tensor x = h_(pass, embed_(pass, tokens, first), {.tokens = tokens, .cache = cache});
  if (cache != nullptr) {
    cache->advance(tokens.shape()[0], tokens.shape()[1]);
  }
  return ln_f_ ? (*ln_f_)(pass, x, pass.operand_type(x)) : cast(x, pass.operand_type(x));
}

KeyValueCache Gpt::cache(index sequences) const {
  return {config_.n_layer, sequences, config_.block_size, config_.n_kv_head * config_.head_size, Tensor(head_).dtype()};
}

Tensor Gpt::logits(Pass& pass, Tensor features) const {
  pass.tape.enter(Region::head);
  return softcap(linear(features, head_, {}, {.dtype = Tensor(head_).dtype()}), config_.logit_softcap);
}

}  // namespace dikkat
