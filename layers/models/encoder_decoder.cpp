#include "layers/models/encoder_decoder.h"

#include <algorithm>

namespace dikkat {
namespace {

Embedding token_table(const Scope& s, const TransformerConfig& c) { return {s / "wte", c.vocab_size, c.n_embd, embedding_std(c)}; }

/// Throws Error unless the tokens and lengths fit. before: the number of tokens that a cache has.
void require_tokens(const char* what, Tensor tokens, Tensor lengths, index block_size, index before = 0) {
  if (tokens.shape().rank() != 2 || tokens.size() == 0 || tokens.shape()[1] > block_size - before) {
    fail("encoder-decoder: ", what, " tokens are ", tokens.shape(), ", expected (B, T) with T from 1 to ",
         before > 0 ? concat(block_size - before, ", what is left of ") : "", "the block size ", block_size);
  }
  require(!lengths || (lengths.dtype() == DType::i32 && lengths.shape() == Shape{tokens.shape()[0]}), "encoder-decoder: ", what,
          " lengths are ", lengths ? lengths.shape() : Shape{}, ", expected i32 [", tokens.shape()[0], "]");
}

/// Returns key_end (B, queries) from lengths (B): all queries of row b see the keys below lengths[b]. It is absent if the lengths are.
Tensor key_ends(Pass& pass, Tensor lengths, index queries) {
  if (!lengths) {
    return {};
  }
  const index batch = lengths.size();
  pass.tape.begin("encoder-decoder");
  const Tensor ends = pass.tape.make({batch, queries}, DType::i32);
  for (index b = 0; b < batch; ++b) {
    std::fill_n(ends.mutable_data<std::int32_t>() + b * queries, queries, lengths.data<std::int32_t>()[b]);
  }
  return ends;
}

}  // namespace

EncoderDecoder::EncoderDecoder(const Scope& s, const TransformerConfig& config)
    : config_(checked(config, ModelKind::encoder_decoder)),
      decoder_wte_(token_table(config_.share_embeddings ? s : s / "decoder", config_)),
      encoder_wte_(config_.share_embeddings ? decoder_wte_.weight : token_table(s / "encoder", config_).weight),
      encoder_embed_(s / "encoder", encoder_wte_, config_),
      decoder_embed_(s / "decoder", decoder_wte_.weight, config_),
      encoder_(s / "encoder" / "h", config_, {.layers = config_.n_encoder_layer, .causal = false}),
      decoder_(s / "decoder" / "h", config_, {.layers = config_.n_layer, .cross = true}),
      head_(config_.tie_embeddings ? decoder_wte_.weight
                                   : output_layer(s / "lm_head", config_.n_embd, config_.vocab_size, head_std(config_))) {
  if (config_.final_norm) {
    encoder_ln_f_.emplace(s / "encoder" / "ln_f", config_);
    decoder_ln_f_.emplace(s / "decoder" / "ln_f", config_);
  }
}

EncoderDecoder::EncoderOutput EncoderDecoder::encode(Pass& pass, Tensor source, Tensor lengths) const {
  require_tokens("source", source, lengths, config_.block_size);
  const Tensor x = encoder_(pass, encoder_embed_(pass, source), {.key_end = key_ends(pass, lengths, source.shape()[1]), .tokens = source});
  return {head_input(pass, encoder_ln_f_, x), lengths};
}

Tensor EncoderDecoder::features(Pass& pass, Tensor targets, const EncoderOutput& encoded, Tensor target_lengths) const {
  require_tokens("target", targets, target_lengths, config_.block_size);
  require(encoded.x.shape()[0] == targets.shape()[0], "encoder-decoder: ", targets.shape()[0], " targets for the encoder's output of ",
          encoded.x.shape()[0], " sources, expected one source for each target");
  const index time = targets.shape()[1];
  return decode(pass, targets,
                {.key_end = key_ends(pass, target_lengths, time),
                 .encoder_output = encoded.x,
                 .encoder_key_end = key_ends(pass, encoded.lengths, time),
                 .tokens = targets});
}

Tensor EncoderDecoder::decode(Pass& pass, Tensor targets, const StackInputs& inputs) const {
  const Tensor first = inputs.cache != nullptr ? inputs.cache->next_positions(pass.tape) : Tensor{};
  const Tensor x = decoder_(pass, decoder_embed_(pass, targets, first), inputs);
  return head_input(pass, decoder_ln_f_, x, config_.logit_scale);
}

EncoderDecoder::Cache EncoderDecoder::cache(index targets, index positions, index sources, index source_positions) const {
  const index width = config_.n_kv_head * config_.head_size;
  const DType dtype = Tensor(head_).dtype();
  return {{config_.n_layer, targets, positions, width, dtype}, {config_.n_layer, sources, source_positions, width, dtype}};
}

void EncoderDecoder::add_source(Pass& pass, const EncoderOutput& encoded, Cache& cache) const {
  require(!encoded.lengths, "encoder-decoder: a source with padding for the cache, expected one without");
  pass.tape.enter(Region::blocks);
  for (index i = 0; i < config_.n_layer; ++i) {
    const CrossAttention& cross = decoder_.blocks[static_cast<std::size_t>(i)].crossattention->layer;
    cache.sources.set_rows(i, std::ssize(cache.lengths), cross.keys_and_values(pass, encoded.x));
  }
  cache.lengths.push_back(static_cast<std::int32_t>(encoded.x.shape()[1]));
}

Tensor EncoderDecoder::features(Pass& pass, Tensor targets, std::span<const std::int32_t> sources, Cache& cache) const {
  require_tokens("target", targets, {}, config_.block_size, cache.targets.longest(targets.shape()[0]));
  const index batch = targets.shape()[0];
  require(std::ssize(sources) == batch, "encoder-decoder: ", batch, " targets of ", sources.size(),
          " sources, expected one for each target");
  std::vector<std::int32_t> lengths;
  for (const std::int32_t source : sources) {
    require(0 <= source && source < std::ssize(cache.lengths), "encoder-decoder: source ", source, " of a cache of ", cache.lengths.size(),
            ", expected a number from 0");
    lengths.push_back(cache.lengths[static_cast<std::size_t>(source)]);
  }
  CachedSequences sequences(cache.targets, batch);
  sequences.reserve(targets.shape()[1]);
  const Tensor y = decode(pass, targets,
                          {.encoder_key_end = key_ends(pass, pass.tape.input<std::int32_t>({batch}, lengths), targets.shape()[1]),
                           .encoder_row = pass.tape.input<std::int32_t>({batch}, sources),
                           .encoder_cache = &cache.sources,
                           .tokens = targets,
                           .cache = &sequences});
  sequences.advance(targets.shape()[1]);
  return y;
}

Tensor EncoderDecoder::logits(Pass& pass, Tensor features) const {
  pass.tape.enter(Region::head);
  return softcap(linear(features, head_, {}, {.dtype = Tensor(head_).dtype()}), config_.logit_softcap);
}

}  // namespace dikkat
