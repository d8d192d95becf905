#pragma once

#include "train/run/trainer.h"

namespace dikkat {

/// An estimate for a whole run, from the steps of a trial.
struct Pace {
  double step_seconds;
  double optimizer_seconds;  // of a step
  double tokens_per_second;
  double seconds;  // of all steps and evaluations
};

Pace pace_of(const Trainer& trainer, const Trial& trial);

}  // namespace dikkat
