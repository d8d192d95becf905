#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

inline constexpr index kMostAlternatives = 20;  // the most of the likeliest tokens that are reported for a token

/// A token of a text, and how likely it was: natural logarithms of the model's own probabilities, before sampling options.
struct ScoredToken {
  Token token = 0;
  std::optional<double> log_probability{};            // absent for the first token of a text, which follows nothing
  std::vector<std::pair<Token, double>> likeliest{};  // the likeliest tokens in its place, likeliest first

  bool operator==(const ScoredToken&) const = default;
};

/// Returns the score of a token in whose place a model has these logits, (V), and the `alternatives` likeliest of the first `usable` ids.
/// Where the token is one of these, both log probabilities have the same bits. They are NaN if a logit is NaN.
ScoredToken score_token(std::span<const float> logits, Token token, index usable, index alternatives);

}  // namespace dikkat
