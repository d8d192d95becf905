#pragma once

#include <string>

#include "train/loop/trainer.h"

namespace dikkat {

/// train.on_end: a command for the shell that runs when a run has ended. Make the object before the trainer, so that it is destroyed after
/// it: then the command runs, and the run directory is free. Its environment says how the run ended: DIKKAT_STATE (finished, stopped or
/// failed), DIKKAT_REASON (of a failure: what went wrong), DIKKAT_RUN (the run directory), DIKKAT_STEP, DIKKAT_BEST_LOSS and
/// DIKKAT_BEST_STEP (empty before the first evaluation). What it prints goes to standard error. It has a minute; then it is left alone. If
/// it fails, the user is warned, and the program's exit code stays.
class OnEnd {
 public:
  OnEnd() = default;
  OnEnd(const OnEnd&) = delete;
  OnEnd& operator=(const OnEnd&) = delete;
  ~OnEnd();

  /// Notes how a run has ended.
  void ended(const Trainer& trainer, const char* state, const std::string& reason = "");

 private:
  std::string command_;  // empty: nothing to do
  std::vector<std::string> variables_;
};

}  // namespace dikkat
