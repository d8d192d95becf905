#include "train/run/loss_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dikkat {

double LossWatch::z_score(double loss) const {
  if (count < kMemory) {
    return 0;
  }
  const double distance = loss - mean;
  return variance > 0 ? distance / std::sqrt(variance) : distance > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// Finch, "Incremental calculation of weighted mean and variance" (2009), section 9. The mean is a plain one until the memory is full.
void LossWatch::take(double loss) {
  const double share = 1 / static_cast<double>(std::min(++count, kMemory));
  const double distance = loss - mean;
  mean += share * distance;
  variance = (1 - share) * (variance + share * distance * distance);
}

LossWatch loss_watch_of(const TrainingState& state) {
  return {.count = state.losses_watched, .mean = state.loss_mean, .variance = state.loss_variance};
}

void add_loss(TrainingState& state, double loss) {
  LossWatch watch = loss_watch_of(state);
  watch.take(loss);
  state.losses_watched = watch.count;
  state.loss_mean = watch.mean;
  state.loss_variance = watch.variance;
}

}  // namespace dikkat
