#pragma once

#include <functional>
#include <string>

#include "train/cli/run_options.h"
#include "train/run/run_length.h"

namespace dikkat {

class Command;
class Trainer;

/// A new run, as `dikkat train` and `dikkat finetune` make it.
struct TrainArguments {
  RunOptions run{};
  std::string out{};  ///< --out; empty: runs/NAME after the configuration, with a number if that exists
  bool profile = false;
  bool verify_resume = false;
  RunLength length{};
  std::function<void(const Trainer& trainer, bool losses_fall)> finished{};  ///< as in TrainingOptions
  bool is_stage = false;                                                     ///< as in TrainingOptions
};

/// Adds --epochs to a command.
void add_epochs(Command& command, RunLength& length);

/// Trains the run to its end, or until a signal. Returns the exit code.
int train_command(const TrainArguments& arguments);

}  // namespace dikkat
