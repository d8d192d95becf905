#pragma once

#include "train/run/trial.h"

namespace dikkat {

/// The estimated times of a whole run, from the steps of a trial.
struct Pace {
  double step_seconds;
  double optimizer_seconds;  // the update of the weights in a step
  double tokens_per_second;
  double seconds;  // all steps and evaluations, and the reference of preference tuning
};

Pace pace_of(const Trainer& trainer, const Trial& trial);

}  // namespace dikkat
