#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "layers/transformer_config.h"
#include "train/sample/scored_token.h"

namespace dikkat {

/// The scores of a prompt's tokens that were read so far, or of a part of them.
struct PromptScores {
  index usable = 0;        // ids that are alternatives
  index alternatives = 0;  // the likeliest tokens of each score
  std::vector<ScoredToken> tokens{};
  std::vector<float> last{};  // (V): the logits after the last of the tokens, which score the next one

  /// Scores the next tokens, on all threads. `logits_after(i)` returns the logits after token i of them, (V), on any thread. Throws Error
  /// if they are NaN.
  void score(std::span<const Token> next, const std::function<std::span<const float>(index i)>& logits_after);
  /// Returns whether other scores have at least the alternatives of these.
  bool is_within(const PromptScores& other) const { return other.usable == usable && other.alternatives >= alternatives; }
  /// Adds the scores of the next tokens, which these are within.
  void append(const PromptScores& next);
  /// Returns the scores of the last `count` tokens.
  PromptScores last_tokens(index count) const;

  /// Returns the most bytes of the scores of `positions` tokens in so many parts.
  static std::size_t bytes(const TransformerConfig& model, index positions, index parts);
};

}  // namespace dikkat
