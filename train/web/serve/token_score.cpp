#include "train/web/serve/token_score.h"

#include <algorithm>
#include <cmath>

namespace dikkat::serve {

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

}  // namespace dikkat::serve
