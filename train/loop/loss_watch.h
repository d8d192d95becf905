#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// What the losses of a run's last steps are like: mean and variance in which a step from long ago counts for less and less. It is part of
/// a run's state, so that a resumed run sees a spike where an undisturbed one does.
struct LossWatch {
  static constexpr index kMemory = 100;  // steps

  index count = 0;
  double mean = 0;
  double variance = 0;

  /// Standard deviations that `loss` is above the mean; 0 while fewer than kMemory losses are known, when nobody can tell.
  double z_score(double loss) const;
  /// Takes a loss in. Finite.
  void take(double loss);
};

}  // namespace dikkat
