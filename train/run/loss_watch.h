#pragma once

#include "autograd/base/index.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// The running mean and variance of a run's losses, in which older steps count less and less. They are part of a run's state, so a resumed
/// run finds the spikes that it would have found without a stop.
struct LossWatch {
  static constexpr index kMemory = 100;  // steps

  index count = 0;
  double mean = 0;
  double variance = 0;

  /// Returns by how many standard deviations `loss` is above the mean; 0 while fewer than kMemory losses are known.
  double z_score(double loss) const;
  /// Adds a loss, which must be finite.
  void take(double loss);
};

LossWatch loss_watch_of(const TrainingState& state);
/// Adds the loss of a step to the state.
void add_loss(TrainingState& state, double loss);

}  // namespace dikkat
