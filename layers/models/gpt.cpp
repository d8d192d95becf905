#include "layers/models/gpt.h"

#include <cmath>

namespace dikkat {
namespace {

constexpr double kStd = 0.02;

const GptConfig& checked(const GptConfig& c) {
  require(c.n_layer >= 1 && c.n_head >= 1 && c.n_embd >= 1 && c.n_hidden >= 0 && c.block_size >= 1 && c.vocab_size >= 1, "gpt: n_layer ",
          c.n_layer, ", n_head ", c.n_head, ", n_embd ", c.n_embd, ", n_hidden ", c.n_hidden, ", block_size ", c.block_size,
          ", vocab_size ", c.vocab_size, ", expected 1 or more of each");
  require(c.n_embd % c.n_head == 0, "gpt: n_head ", c.n_head, " does not divide n_embd ", c.n_embd);
  require(0 <= c.dropout && c.dropout < 1, "gpt: dropout ", c.dropout, ", expected 0 <= p < 1");
  return c;
}

StackConfig stack_of(const GptConfig& c) {
  const double projection_std = kStd / std::sqrt(2.0 * static_cast<double>(c.n_layer));
  return {.layers = c.n_layer,
          .norm = c.norm,
          .attention = {.width = c.n_embd,
                        .heads = c.n_head,
                        .bias = c.bias,
                        .qkv_bias = c.qkv_bias,
                        .dropout = c.dropout,
                        .std = kStd,
                        .projection_std = projection_std},
          .feed_forward = {.width = c.n_embd,
                           .hidden = c.n_hidden == 0 ? 4 * c.n_embd : c.n_hidden,
                           .activation = c.activation,
                           .bias = c.bias,
                           .std = kStd,
                           .projection_std = projection_std},
          .bias = c.bias,
          .dropout = c.dropout};
}

InputConfig input_of(const GptConfig& c) {
  return {
      .places = c.block_size, .width = c.n_embd, .positions = c.positions, .scaled = c.scale_embeddings, .std = kStd, .dropout = c.dropout};
}

}  // namespace

Gpt::Gpt(const Scope& s, const GptConfig& config)
    : config_(checked(config)),
      wte_(s / "wte", config.vocab_size, config.n_embd, kStd),
      embed_(s, wte_.weight, input_of(config)),
      h_(s / "h", stack_of(config)),
      head_(config.tie_embeddings ? wte_.weight : output_layer(s / "lm_head", config.n_embd, config.vocab_size, kStd)) {
  if (config.final_norm) {
    ln_f_.emplace(s / "ln_f", config.n_embd, config.bias);
  }
}

Tensor Gpt::features(Pass& pass, Tensor tokens, KeyValueCache* cache) const {
  const index before = cache != nullptr ? cache->length() : 0;
  if (tokens.shape().rank() != 2 || tokens.size() == 0 || tokens.shape()[1] > config_.block_size - before) {
    fail("gpt: tokens are ", tokens.shape(), ", expected (B, T) with T from 1 to ",
         before > 0 ? concat(config_.block_size - before, ", what is left of ") : "", "the block size ", config_.block_size);
  }
  const Tensor x = h_(pass, embed_(pass, tokens, before), {.cache = cache});
  if (cache != nullptr) {
    cache->advance(tokens.shape()[1]);
  }
  return ln_f_ ? (*ln_f_)(pass, x) : x;
}

KeyValueCache Gpt::cache(index sequences) const {
  return {config_.n_layer, sequences, config_.block_size, config_.n_embd, Tensor(head_).dtype()};
}

Tensor Gpt::logits(Pass& pass, Tensor features) const {
  pass.tape.enter(Region::head);
  return linear(features, head_);
}

}  // namespace dikkat
