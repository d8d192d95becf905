#include "train/sample/prompt_scores.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "train/sample/model_passes.h"

namespace dikkat {

void PromptScores::score(std::span<const Token> next, const std::function<std::span<const float>(index i)>& logits_after) {
  const std::size_t begin = tokens.size();
  const index count = std::ssize(next), width = std::ssize(logits_after(0));
  tokens.resize(begin + next.size());
  parallel_for(count, Work::elements(4 * count * width), [&](index i) {
    const Token token = next[static_cast<std::size_t>(i)];
    ScoredToken& scored = tokens[begin + static_cast<std::size_t>(i)];
    if (begin == 0 && i == 0) {
      scored.token = token;
      return;
    }
    scored = score_token(i == 0 ? std::span<const float>(last) : logits_after(i - 1), token, usable, alternatives);
    if (std::isnan(*scored.log_probability)) {
      throw ModelPasses::nan_error();
    }
  });
  const std::span<const float> logits = logits_after(count - 1);
  last.assign(logits.begin(), logits.end());
}

void PromptScores::append(const PromptScores& next) {
  for (const ScoredToken& one : next.tokens) {
    ScoredToken& added = tokens.emplace_back(one);
    added.likeliest.resize(std::min(added.likeliest.size(), static_cast<std::size_t>(alternatives)));
  }
  last = next.last;
}

PromptScores PromptScores::last_tokens(index count) const {
  return {.usable = usable, .alternatives = alternatives, .tokens = {tokens.end() - count, tokens.end()}, .last = last};
}

std::size_t PromptScores::bytes(const TransformerConfig& model, index positions, index parts) {
  constexpr std::size_t kOfAToken = sizeof(ScoredToken) + kMostAlternatives * sizeof(std::pair<Token, double>);
  return static_cast<std::size_t>(positions) * kOfAToken + static_cast<std::size_t>(parts * model.vocab_size) * sizeof(float);
}

}  // namespace dikkat
