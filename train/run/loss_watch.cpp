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

// Finch, "Incremental calculation of weighted mean and variance" (2009), section 9; a plain mean until the memory is full.
void LossWatch::take(double loss) {
  const double share = 1 / static_cast<double>(std::min(++count, kMemory));
  const double distance = loss - mean;
  mean += share * distance;
  variance = (1 - share) * (variance + share * distance * distance);
}

}  // namespace dikkat
