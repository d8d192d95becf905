#include "layers/transformer_config.h"

#include <algorithm>
#include <cmath>

namespace dikkat {
namespace {

constexpr double kGpt2Std = 0.02;

/// Returns LongRoPE's factor of cosines and sines (Ding et al., arXiv 2402.13753; Phi-3's configuration), which makes up for a softer
/// softmax over more positions.
double longrope_amplitude(const TransformerConfig& c) {
  const auto original = static_cast<double>(std::max<index>(c.rope_original_context, 2));
  return c.rope_factor > 1 ? std::sqrt(1 + std::log(c.rope_factor) / std::log(original)) : 1;
}

/// Returns whether a layer is the last one of a group of `size` layers. Groups of size 0 do not exist.
bool ends_group(index layer, index size) { return size > 0 && (layer + 1) % size == 0; }

double glorot(index in, index out) { return std::sqrt(2.0 / static_cast<double>(in + out)); }

}  // namespace

TransformerConfig with_defaults(TransformerConfig c) {
  const bool is_gpt = c.kind == ModelKind::gpt;
  c.n_encoder_layer.derive(c.n_layer);
  c.n_kv_head.derive(c.n_head);
  c.head_size.derive(std::max<index>(c.n_embd / std::max<index>(c.n_head, 1), 1));  // checked() reports a remainder
  c.n_hidden.derive(c.gated ? round_up(ceil_div(8 * c.n_embd, 3), 64) : 4 * c.n_embd);
  c.qkv_bias.derive(c.bias);
  c.scale_embeddings.derive(!is_gpt);
  c.positions.derive(is_gpt ? Positions::learned : Positions::sinusoidal);
  c.norm_position.derive(is_gpt ? NormPosition::pre : NormPosition::post);
  c.final_norm.derive(c.norm_position != NormPosition::post);
  c.attention_scale.derive(1 / std::sqrt(static_cast<double>(std::max<index>(c.head_size, 1))));
  c.rope_amplitude.derive(c.positions == Positions::rope && c.rope_scaling == RopeScaling::longrope ? longrope_amplitude(c) : 1);
  c.activation.derive(is_gpt ? Activation::gelu : Activation::relu);
  return c;
}

TransformerConfig checked(TransformerConfig c, ModelKind kind) {
  c.kind = kind;
  c = with_defaults(c);
  const char* name = kind == ModelKind::gpt ? "gpt" : "encoder-decoder";
  const auto require_size = [&](const char* key, index size) { require(size >= 1, name, ": ", key, ' ', size, ", expected 1 or more"); };
  // Check the sizes.
  require(!c.vocab_size.is_open(), name, ": vocab_size is not given");
  require_size("n_layer", c.n_layer);
  require_size("n_encoder_layer", c.n_encoder_layer);
  require_size("n_head", c.n_head);
  require_size("n_kv_head", c.n_kv_head);
  require_size("n_embd", c.n_embd);
  require_size("n_hidden", c.n_hidden);
  require_size("block_size", c.block_size);
  require_size("vocab_size", c.vocab_size);
  require(c.head_size.is_set() || c.n_embd % c.n_head == 0, name, ": n_head ", c.n_head, " does not divide n_embd ", c.n_embd);
  require_size("head_size", c.head_size);
  require(c.n_head % c.n_kv_head == 0, name, ": n_kv_head ", *c.n_kv_head, " does not divide n_head ", c.n_head);
  // Check the keys of rotary positions.
  require(c.positions != Positions::rope || c.head_size % 2 == 0, name, ": head_size ", *c.head_size, ", expected an even one for RoPE");
  require(c.positions != Positions::rope || (c.rope_theta > 0 && c.rope_factor > 0), name, ": rope_theta ", c.rope_theta,
          " and rope_factor ", c.rope_factor, ", expected more than 0");
  require(c.rope_scaling != RopeScaling::llama3 || c.rope_low_freq_factor < c.rope_high_freq_factor, name, ": rope_low_freq_factor ",
          c.rope_low_freq_factor, ", expected less than rope_high_freq_factor ", c.rope_high_freq_factor);
  require(0 < c.rope_share && c.rope_share <= 1 && c.rope_theta_local >= 0, name, ": rope_share ", c.rope_share, " and rope_theta_local ",
          c.rope_theta_local, ", expected a share above 0 and at most 1, and a base of 0 or more");
  for (const std::vector<double>* factors : {&c.rope_short_factors, &c.rope_long_factors}) {
    const bool are_positive = std::all_of(factors->begin(), factors->end(), [](double factor) { return factor > 0; });
    require(c.positions != Positions::rope || factors->empty() || (are_positive && std::ssize(*factors) == rotated_size(c) / 2), name, ": ",
            factors->size(), factors == &c.rope_short_factors ? " rope_short_factors" : " rope_long_factors", ", expected none, or ",
            rotated_size(c) / 2, " above 0: one for each pair that RoPE rotates");
  }
  require(c.rope_amplitude > 0, name, ": rope_amplitude ", *c.rope_amplitude, ", expected more than 0");
  require(c.positions != Positions::rope || c.rope_scaling != RopeScaling::longrope || c.block_size <= c.rope_original_context, name,
          ": block_size ", c.block_size, ", expected at most rope_original_context ", c.rope_original_context,
          ": positions after it would need LongRoPE's other factors");
  // Check windows, patterns, factors and the other keys.
  require(c.window == 0 || (c.window > 0 && kind == ModelKind::gpt), name, ": window ", c.window,
          ", expected 0, or in a gpt 1 or more: an encoder sees tokens after it");
  require(c.window_pattern >= 0 && c.rope_pattern >= 0, name, ": window_pattern ", c.window_pattern, " and rope_pattern ", c.rope_pattern,
          ", expected 0 or more");
  require(c.attention_scale > 0 && c.embedding_scale > 0 && c.residual_scale > 0 && c.logit_scale > 0, name, ": attention_scale ",
          *c.attention_scale, ", embedding_scale ", c.embedding_scale, ", residual_scale ", c.residual_scale, " and logit_scale ",
          c.logit_scale, ", expected more than 0");
  require(!(c.zero_head && c.tie_embeddings), name,
          ": zero_head with tie_embeddings, expected tie_embeddings = false: a tied head is the token table, which does not begin at 0");
  require(c.norm_eps > 0, name, ": norm_eps ", c.norm_eps, ", expected more than 0");
  require(0 <= c.dropout && c.dropout < 1, name, ": dropout ", c.dropout, ", expected 0 <= p < 1");
  return c;
}

double weight_std(const TransformerConfig& c, index in, index out) { return c.kind == ModelKind::gpt ? kGpt2Std : glorot(in, out); }

double branch_end_std(const TransformerConfig& c, index in, index out) {
  if (c.zero_init_projections) {
    return 0;
  }
  return c.kind == ModelKind::gpt ? kGpt2Std / std::sqrt(2.0 * static_cast<double>(c.n_layer)) : glorot(in, out);
}

double embedding_std(const TransformerConfig& c) {
  return c.kind == ModelKind::gpt ? kGpt2Std : 1 / std::sqrt(static_cast<double>(c.n_embd));
}

double head_std(const TransformerConfig& c) { return c.zero_head ? 0 : embedding_std(c); }

index window_of(const TransformerConfig& c, index layer) { return ends_group(layer, c.window_pattern) ? 0 : c.window; }

bool has_rope(const TransformerConfig& c, index layer) { return c.positions == Positions::rope && !ends_group(layer, c.rope_pattern); }

index rotated_size(const TransformerConfig& c) {
  return std::max<index>(static_cast<index>(static_cast<double>(c.head_size) * c.rope_share) / 2, 1) * 2;
}

bool has_value_embedding(const TransformerConfig& c, index layer, index layers) {
  switch (c.value_embeddings) {
    case ValueEmbeddings::none: return false;
    case ValueEmbeddings::alternate: return (layers - 1 - layer) % 2 == 0;
    case ValueEmbeddings::all: return true;
  }
  fail("has_value_embedding: a choice that this program does not know");
}

index value_gate_channels(const TransformerConfig& c) {
  constexpr index kChannels = 12;  // nanochat's number
  return std::min(kChannels, c.n_embd);
}

}  // namespace dikkat
