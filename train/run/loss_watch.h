#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// Running mean and variance of a run's losses, in which older steps count less and less. They are part of a run's state, so that a resumed
/// run finds the same spikes as one that was never stopped.
struct LossWatch {
  static constexpr index kMemory = 100;  // steps

  index count = 0;
  double mean = 0;
  double variance = 0;

  /// By how many standard deviations `loss` is above the mean; 0 while fewer than kMemory losses are known.
  double z_score(double loss) const;
  /// Adds a loss, which must be finite.
  void take(double loss);
};

}  // namespace dikkat
