#pragma once

#include <string>

#include "train/cli/wanted_run.h"

namespace dikkat {

/// A new run, as `dikkat train` and `dikkat finetune` make it.
struct TrainArguments {
  WantedRun run{};
  std::string out{};  ///< empty: runs/<name of the configuration>, with a number if that exists
  bool profile = false;
  bool verify_resume = false;
};

/// Trains it to its end, or until a signal. Returns the exit code.
int train_command(const TrainArguments& arguments);

}  // namespace dikkat
