#include "train/parallel/slow_rank.h"

#include <algorithm>
#include <utility>

namespace dikkat {

SlowRank::Found SlowRank::take(std::span<const double> seconds) {
  constexpr int kSteps = 10;
  constexpr double kSlow = 1.3;
  if (seconds.empty()) {  // a single process
    return {};
  }
  sums_.resize(seconds.size());
  was_found_.resize(seconds.size());
  if (++steps_ == 0) {
    return {};
  }
  for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
    sums_[rank] += seconds[rank];
  }
  if (steps_ < kSteps) {
    return {};
  }
  steps_ = 0;
  std::vector<double> sorted = std::exchange(sums_, {});
  const auto slowest = std::max_element(sorted.begin(), sorted.end());
  const auto rank = static_cast<std::size_t>(slowest - sorted.begin());
  const double longest = *slowest;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[(sorted.size() - 1) / 2];  // the faster one of two ranks
  if (longest < kSlow * median || was_found_[rank]) {
    return {};
  }
  was_found_[rank] = true;
  return {.rank = static_cast<int>(rank), .seconds = longest / kSteps, .median = median / kSteps};
}

}  // namespace dikkat
