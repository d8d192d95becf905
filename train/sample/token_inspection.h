#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// A model's view of a text: how likely each token was, and where attention went.
struct TokenInspection {
  struct Seen {
    Token token = 0;
    double probability = 0;                                // under the model; NaN for the first token
    std::vector<std::pair<Token, double>> alternatives{};  // the likeliest tokens at this position and their probabilities, likeliest first
  };
  std::vector<Seen> tokens{};  // T

  index layers = 0, heads = 0;
  index first_query = 0;                  // the first query whose attention is kept
  index first_key = 0;                    // its first key: the start of the last window
  std::vector<std::uint8_t> attention{};  // (layers, heads, T - first_query, T - first_key): attention weights times 255
};

struct InspectionOptions {
  index ids = 0;                // the tokenizer's vocabulary size; higher ids are padding, and never alternatives
  index alternatives = 10;      // number of likeliest tokens to keep for each position
  index attention = 8'000'000;  // most bytes of TokenInspection::attention; the latest positions are kept
};

/// Reads a text of one token or more. A text that is longer than block_size, or than 2,048 tokens, is read in windows of that length, which
/// overlap by half. A token's probability comes from the first window in which half a window precedes it. Throws Error for an empty text.
TokenInspection inspect_tokens(const Gpt& model, std::span<const Token> text, const InspectionOptions& options);

}  // namespace dikkat
