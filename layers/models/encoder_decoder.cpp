#include "layers/models/encoder_decoder.h"

#include <algorithm>
#include <cmath>

namespace dikkat {
namespace {

const EncoderDecoderConfig& checked(const EncoderDecoderConfig& c) {
  require(c.n_encoder_layer >= 1 && c.n_layer >= 1 && c.n_head >= 1 && c.n_embd >= 1 && c.n_hidden >= 0 && c.block_size >= 1 &&
              c.vocab_size >= 1,
          "encoder-decoder: n_encoder_layer ", c.n_encoder_layer, ", n_layer ", c.n_layer, ", n_head ", c.n_head, ", n_embd ", c.n_embd,
          ", n_hidden ", c.n_hidden, ", block_size ", c.block_size, ", vocab_size ", c.vocab_size, ", expected 1 or more of each");
  require(c.n_embd % c.n_head == 0, "encoder-decoder: n_head ", c.n_head, " does not divide n_embd ", c.n_embd);
  require(0 <= c.dropout && c.dropout < 1, "encoder-decoder: dropout ", c.dropout, ", expected 0 <= p < 1");
  return c;
}

double glorot(index in, index out) { return std::sqrt(2.0 / static_cast<double>(in + out)); }

StackConfig stack_of(const EncoderDecoderConfig& c, bool decoder) {
  const index hidden = c.n_hidden == 0 ? 4 * c.n_embd : c.n_hidden;
  return {.layers = decoder ? c.n_layer : c.n_encoder_layer,
          .norm = c.norm,
          .causal = decoder,
          .cross = decoder,
          .attention = {.width = c.n_embd,
                        .heads = c.n_head,
                        .bias = c.bias,
                        .qkv_bias = c.qkv_bias,
                        .dropout = c.dropout,
                        .std = glorot(c.n_embd, c.n_embd),
                        .projection_std = glorot(c.n_embd, c.n_embd)},
          .feed_forward = {.width = c.n_embd,
                           .hidden = hidden,
                           .activation = c.activation,
                           .bias = c.bias,
                           .std = glorot(c.n_embd, hidden),
                           .projection_std = glorot(c.n_embd, hidden)},
          .bias = c.bias,
          .dropout = c.dropout};
}

/// Of token rows: with the scale of sqrt(C), what goes into the stack has variance 1.
double token_std(const EncoderDecoderConfig& c) { return 1 / std::sqrt(static_cast<double>(c.n_embd)); }

InputConfig input_of(const EncoderDecoderConfig& c) {
  return {.places = c.block_size,
          .width = c.n_embd,
          .positions = c.positions,
          .scaled = c.scale_embeddings,
          .std = token_std(c),
          .dropout = c.dropout};
}

Embedding token_table(const Scope& s, const EncoderDecoderConfig& c) { return {s / "wte", c.vocab_size, c.n_embd, token_std(c)}; }

void require_tokens(const char* what, Tensor tokens, Tensor lengths, index block_size) {
  require(tokens.shape().rank() == 2 && tokens.size() > 0 && tokens.shape()[1] <= block_size, "encoder-decoder: ", what, " tokens are ",
          tokens.shape(), ", expected (B, T) with T from 1 to the block size ", block_size);
  require(!lengths || (lengths.dtype() == DType::i32 && lengths.shape() == Shape{tokens.shape()[0]}), "encoder-decoder: ", what,
          " lengths are ", lengths ? lengths.shape() : Shape{}, ", expected i32 [", tokens.shape()[0], "]");
}

/// Lengths (B) as what each of `queries` positions sees: (B, queries). Absent stays absent.
Tensor key_ends(Pass& pass, Tensor lengths, index queries) {
  if (!lengths) {
    return {};
  }
  const index batch = lengths.size();
  pass.tape.begin("encoder-decoder");
  const Tensor last = pass.tape.make({batch, queries}, DType::i32);
  for (index b = 0; b < batch; ++b) {
    std::fill_n(last.mutable_data<std::int32_t>() + b * queries, queries, lengths.data<std::int32_t>()[b]);
  }
  return last;
}

}  // namespace

EncoderDecoder::EncoderDecoder(const Scope& s, const EncoderDecoderConfig& config)
    : config_(checked(config)),
      decoder_wte_(token_table(config.share_embeddings ? s : s / "decoder", config)),
      encoder_wte_(config.share_embeddings ? decoder_wte_.weight : token_table(s / "encoder", config).weight),
      encoder_embed_(s / "encoder", encoder_wte_, input_of(config)),
      decoder_embed_(s / "decoder", decoder_wte_.weight, input_of(config)),
      encoder_(s / "encoder" / "h", stack_of(config, false)),
      decoder_(s / "decoder" / "h", stack_of(config, true)),
      head_(config.tie_embeddings ? decoder_wte_.weight
                                  : output_layer(s / "lm_head", config.n_embd, config.vocab_size, token_std(config))) {
  if (config.final_norm) {
    encoder_ln_f_.emplace(s / "encoder" / "ln_f", config.n_embd, config.bias);
    decoder_ln_f_.emplace(s / "decoder" / "ln_f", config.n_embd, config.bias);
  }
}

EncoderDecoder::Memory EncoderDecoder::encode(Pass& pass, Tensor source, Tensor lengths) const {
  require_tokens("source", source, lengths, config_.block_size);
  const Tensor x = encoder_(pass, encoder_embed_(pass, source), {.key_end = key_ends(pass, lengths, source.shape()[1])});
  return {encoder_ln_f_ ? (*encoder_ln_f_)(pass, x) : x, lengths};
}

Tensor EncoderDecoder::features(Pass& pass, Tensor targets, const Memory& memory, Tensor target_lengths) const {
  require_tokens("target", targets, target_lengths, config_.block_size);
  require(memory.x.shape()[0] == targets.shape()[0], "encoder-decoder: ", targets.shape()[0], " targets for a memory of ",
          memory.x.shape()[0], " sources, expected one source for each");
  const index time = targets.shape()[1];
  const Tensor x = decoder_(
      pass, decoder_embed_(pass, targets),
      {.key_end = key_ends(pass, target_lengths, time), .memory = memory.x, .memory_key_end = key_ends(pass, memory.lengths, time)});
  return decoder_ln_f_ ? (*decoder_ln_f_)(pass, x) : x;
}

Tensor EncoderDecoder::logits(Pass& pass, Tensor features) const {
  pass.tape.enter(Region::head);
  return linear(features, head_);
}

}  // namespace dikkat
