#include "layers/models/gpt.h"

#include <cmath>

namespace dikkat {
namespace {

constexpr double kStd = 0.02;

const GptConfig& checked(const GptConfig& c) {
  require(c.n_layer >= 1 && c.n_head >= 1 && c.n_embd >= 1 && c.block_size >= 1 && c.vocab_size >= 1, "gpt: n_layer ", c.n_layer,
          ", n_head ", c.n_head, ", n_embd ", c.n_embd, ", block_size ", c.block_size, ", vocab_size ", c.vocab_size,
          ", expected 1 or more of each");
  require(c.n_embd % c.n_head == 0, "gpt: n_head ", c.n_head, " does not divide n_embd ", c.n_embd);
  require(0 <= c.dropout && c.dropout < 1, "gpt: dropout ", c.dropout, ", expected 0 <= p < 1");
  return c;
}

StackConfig stack_of(const GptConfig& c) {
  const double projection_std = kStd / std::sqrt(2.0 * static_cast<double>(c.n_layer));
  return {.layers = c.n_layer,
          .attention = {.width = c.n_embd,
                        .heads = c.n_head,
                        .bias = c.bias,
                        .qkv_bias = c.qkv_bias,
                        .dropout = c.dropout,
                        .std = kStd,
                        .projection_std = projection_std},
          .hidden = 4 * c.n_embd,
          .bias = c.bias,
          .dropout = c.dropout};
}

}  // namespace

Gpt::Gpt(const Scope& s, const GptConfig& config)
    : config_(checked(config)),
      embed_(s, config.vocab_size, config.block_size, config.n_embd, kStd),
      drop_(s / "drop", config.dropout),
      h_(s / "h", stack_of(config)),
      ln_f_(s / "ln_f", config.n_embd, config.bias),
      head_(config.tie_embeddings ? embed_.tokens.weight : Linear(s / "lm_head", config.n_embd, config.vocab_size, false, kStd).weight) {}

Tensor Gpt::features(Pass& pass, Tensor tokens) const {
  require(tokens.shape().rank() == 2 && tokens.size() > 0 && tokens.shape()[1] <= config_.block_size, "gpt: tokens are ", tokens.shape(),
          ", expected (B, T) with T from 1 to the block size ", config_.block_size);
  return ln_f_(pass, h_(pass, drop_(pass, embed_(pass, tokens))));
}

Tensor Gpt::logits(Pass&, Tensor features) const { return linear(features, head_); }

}  // namespace dikkat
