#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// What a model made of a text: how likely it thought each token, and what it looked at.
struct Look {
  struct Seen {
    Token token = 0;
    double probability = 0;                                ///< that the model gave it; NaN for the first, which nothing comes before
    std::vector<std::pair<Token, double>> alternatives{};  ///< the likeliest tokens here with their probabilities, from the likeliest on
  };
  std::vector<Seen> tokens{};  ///< T

  index layers = 0, heads = 0;
  index first_query = 0;                  ///< attention is kept from this position on,
  index first_key = 0;                    ///< to positions from here on: those of the last window
  std::vector<std::uint8_t> attention{};  ///< (layers, heads, T - first_query, T - first_key): weights of a position's attention, times 255
};

struct LookOptions {
  index ids = 0;                ///< of the tokenizer: ids from here on are padding of the embedding table, and no alternatives
  index alternatives = 10;      ///< how many of the likeliest tokens are told
  index attention = 8'000'000;  ///< bytes of Look::attention at most; the latest positions are kept
};
/// Reads a text of one token or more. What is longer than block_size, or than 2,048 tokens, is read in windows of that length, each half a
/// window after the one before: a token has the probability that the first of its windows gives it in which it has half a window before it.
/// Throws Error for an empty text.
Look look_at(const Gpt& model, std::span<const Token> text, const LookOptions& options);

}  // namespace dikkat
