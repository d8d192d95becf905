#pragma once

#include <string>

#include "train/loop/trainer.h"

namespace dikkat {

/// Runs train.on_end, a command for the shell, when a run has ended. Its environment says how: DIKKAT_STATE (finished, stopped or failed),
/// DIKKAT_REASON (of a failure: what went wrong), DIKKAT_RUN (the run directory), DIKKAT_STEP, DIKKAT_BEST_LOSS and DIKKAT_BEST_STEP (empty before
/// the first evaluation). What it prints goes to standard error. It has a minute; then it is left alone. If it fails, the user is warned, and the
/// run's own exit code stays.
void run_on_end(const Trainer& trainer, const char* state, const std::string& reason = "");

}  // namespace dikkat
