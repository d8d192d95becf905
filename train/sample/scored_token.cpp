#include "train/sample/scored_token.h"

#include "train/sample/draw.h"

namespace dikkat {

ScoredToken score_token(std::span<const float> logits, Token token, index usable, index alternatives) {
  const double total = log_sum_exp(logits);
  const auto log_probability = [&](Token id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]) - total; };
  ScoredToken scored{.token = token, .log_probability = log_probability(token)};
  for (const Token id : likeliest_tokens(logits, usable, alternatives)) {
    scored.likeliest.emplace_back(id, log_probability(id));
  }
  return scored;
}

}  // namespace dikkat
