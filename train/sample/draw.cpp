#include "train/sample/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace dikkat {

index draw_token(std::span<const float> logits, double temperature, index top_k, double uniform) {
  if (temperature == 0) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  std::vector<index> ids(logits.size());
  std::iota(ids.begin(), ids.end(), index{0});
  const auto logit = [&](index id) { return logits[static_cast<std::size_t>(id)]; };
  if (0 < top_k && top_k < static_cast<index>(ids.size())) {
    const auto likelier = [&](index a, index b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; };
    std::nth_element(ids.begin(), ids.begin() + top_k, ids.end(), likelier);
    ids.resize(static_cast<std::size_t>(top_k));
    std::sort(ids.begin(), ids.end());
  }
  float highest = logit(ids.front());
  for (const index id : ids) {
    highest = std::max(highest, logit(id));
  }
  std::vector<double> sums(ids.size());
  double total = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    total += std::exp((static_cast<double>(logit(ids[i])) - static_cast<double>(highest)) / temperature);
    sums[i] = total;
  }
  const auto found = std::upper_bound(sums.begin(), sums.end(), uniform * total);
  return ids[std::min(static_cast<std::size_t>(found - sums.begin()), ids.size() - 1)];
}

}  // namespace dikkat
