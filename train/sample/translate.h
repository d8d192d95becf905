#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "layers/models/encoder_decoder.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct TranslateOptions {
  index beam = 1;  // beam width, the number of hypotheses that are kept; 1: greedy, always the likeliest token
  double length_penalty =
      0.6;                   // alpha: hypotheses are compared by log-probability / ((5 + length) / 6)^alpha (Wu et al., arXiv 1609.08144)
  index max_new_tokens = 0;  // most tokens of a target; 0: the model's block_size
};

/// A target that the decoder generated.
struct Translation {
  std::vector<Token> tokens;   // without start and end token
  double log_probability = 0;  // sum over the tokens, and the end token if there was one
  bool ended = false;          // whether it ended with the end token, not at the limit
};

/// Returns a source as the encoder reads it: the tokens of the text and the end token. Throws EncodeError, and InputError if the text has
/// no tokens or the source has more than block_size.
std::vector<Token> encode_source(const Tokenizer& tokenizer, std::string_view text, index block_size);

/// Generates a target for each source, one token at a time, from the start token to the end token. Beam search keeps the `beam` likeliest
/// hypotheses; a finished one keeps its place among them, and the best finished one wins. Ties go to the lower token. The model reads one
/// source at a time, and the last tokens of up to 16 hypotheses together. A result does not depend on the other sources. `stop` is called
/// before each token; if it returns true, the result is empty. `progress` receives the share that is done. Throws InputError for an option
/// out of range, and Error if the model's logits are NaN.
std::vector<Translation> translate(const EncoderDecoder& model, const Tokenizer& tokenizer, std::span<const std::vector<Token>> sources,
                                   const TranslateOptions& options, const std::function<bool()>& stop = {},
                                   const std::function<void(double)>& progress = {});

/// The attention weights of one layer.
struct LayerAttention {
  std::string layer;  // "decoder.h.0.crossattention"
  index heads = 0, queries = 0, keys = 0;
  std::vector<float> weights;  // (heads, queries, keys)
};

/// Returns the weights of all attention layers, in the order of computation, for a source and a target (its tokens without special tokens).
/// Query t of the decoder predicts token t. The last query predicts the end token, unless the target fills the block.
std::vector<LayerAttention> attention_of(const EncoderDecoder& model, const Tokenizer& tokenizer, const std::vector<Token>& source,
                                         const std::vector<Token>& target);

}  // namespace dikkat
