#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "layers/models/encoder_decoder.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct TranslateOptions {
  index beam = 1;               // texts that are followed at once; 1: greedy, always the likeliest token
  double length_penalty = 0.6;  // alpha: texts are compared by log-probability / ((5 + length) / 6)^alpha (Wu et al., arXiv 1609.08144)
  index max_new_tokens = 0;     // of a target; 0: as many as the model can
};

/// A target that the decoder made.
struct Translation {
  std::vector<Token> tokens;   // without start and end mark
  double log_probability = 0;  // of the tokens, and of the end mark if it came
  bool ended = false;          // by the end mark, not by the limit
};

/// A source as the encoder reads it: the text's tokens and the end mark. Throws EncodeError, and InputError for a text without tokens or
/// one that is longer than block_size.
std::vector<Token> encode_source(const Tokenizer& tokenizer, std::string_view text, index block_size);

/// Writes a target for each source, one token at a time, from the start token to the end token. With a beam,
/// the `beam` likeliest beginnings are followed, a finished one keeping its place among them, and the best finished one wins; ties go
/// to the lower token. Sources are worked on in blocks of a fixed size, each as if it were alone but for rounding.
/// `stop` is asked before each token; when it says true nothing is returned. `progress` is told the share that is done.
/// Throws InputError for an option out of range.
std::vector<Translation> translate(const EncoderDecoder& model, const Tokenizer& tokenizer, std::span<const std::vector<Token>> sources,
                                   const TranslateOptions& options, const std::function<bool()>& stop = {},
                                   const std::function<void(double)>& progress = {});

/// What one attention layer looked at.
struct LayerAttention {
  std::string layer;  // "decoder.h.0.crossattention"
  index heads = 0, queries = 0, keys = 0;
  std::vector<float> weights;  // (heads, queries, keys)
};

/// The weights of all attention layers, in the order in which they work, for a source and a target (its tokens without marks). Query t of
/// the decoder is the position that predicts token t; the last one predicts the end.
std::vector<LayerAttention> attention_of(const EncoderDecoder& model, const Tokenizer& tokenizer, const std::vector<Token>& source,
                                         const std::vector<Token>& target);

}  // namespace dikkat
