#include "train/web/serve/token_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dikkat {

std::vector<double> log_probabilities(std::span<const float> logits, std::span<const Token> ids) {
  const auto highest = static_cast<double>(*std::ranges::max_element(logits));
  double total = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<double>(logit) - highest);
  }
  const double log_total = std::log(total);
  std::vector<double> found;
  for (const Token id : ids) {
    found.push_back(static_cast<double>(logits[static_cast<std::size_t>(id)]) - highest - log_total);
  }
  return found;
}

std::vector<Token> likeliest_tokens(std::span<const float> logits, index usable, index count) {
  std::vector<Token> ids(static_cast<std::size_t>(usable));
  std::iota(ids.begin(), ids.end(), Token{0});
  const auto logit = [&](Token id) { return logits[static_cast<std::size_t>(id)]; };
  const auto end = ids.begin() + std::min(count, usable);
  std::partial_sort(ids.begin(), end, ids.end(), [&](Token a, Token b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  ids.erase(end, ids.end());
  std::erase_if(ids, [&](Token id) { return logit(id) == -std::numeric_limits<float>::infinity(); });
  return ids;
}

}  // namespace dikkat
