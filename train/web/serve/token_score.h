#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/sample/scored_token.h"
#include "train/text/tokenizer.h"

namespace dikkat::serve {

/// A token of an answer, and how likely it was: natural logarithms of the model's own probabilities, before sampling options.
struct TokenScore {
  std::string text{};                                       // may end within a character
  std::optional<double> log_probability{};                  // absent for the first token of a prompt
  std::vector<std::pair<std::string, double>> likeliest{};  // the likeliest tokens, likeliest first
  index offset = 0;                                         // characters of the answer before this token
};

/// Returns the score with the texts that the tokens have after `before`, and without an offset.
TokenScore with_texts(const ScoredToken& scored, const Tokenizer& tokenizer, std::optional<Token> before);

/// Returns the number of characters of a text: of the bytes that begin one.
index count_of_characters(const std::string& text);

}  // namespace dikkat::serve
