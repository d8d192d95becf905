#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat::serve {

/// A token of an answer, and how likely it was: natural logarithms of the model's own probabilities, before sampling options.
struct TokenScore {
  std::string text{};  // may end within a character
  double log_probability = 0;
  std::vector<std::pair<std::string, double>> likeliest{};  // the likeliest tokens, likeliest first
  index offset = 0;                                         // characters of the answer before this token
};

/// Returns the log probability of each of `ids` under softmax(logits), computed in f64.
std::vector<double> log_probabilities(std::span<const float> logits, std::span<const Token> ids);

}  // namespace dikkat::serve
