#pragma once

#include <cstddef>
#include <vector>

#include "train/run/trainer.h"

namespace dikkat {

/// The first steps of a run, made only to measure them.
struct Trial {
  std::vector<StepReport> steps;
  double evaluation_seconds = 0;  // seconds of one evaluation, estimated from a block of it; 0: the run does not evaluate
  std::size_t peak = 0;           // highest memory use of the process so far, in bytes
};

/// Makes the first steps of a run of Trainer::plan(), one or more and at most `steps`, for some seconds, and a block of an evaluation. A
/// step that takes longer ends after some of its passes, and its time is extrapolated to all of them. Writes nothing. Call it once, as the
/// last use of the trainer except for its plans. Throws Diverged if a loss or gradient is not finite, whatever train.on_nonfinite is.
Trial run_trial(Trainer& trainer, index steps);

}  // namespace dikkat
