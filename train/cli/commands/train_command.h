#pragma once

#include <functional>
#include <string>
#include <vector>

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
  /// Called when the run has finished, before its path is printed. `losses_fall` is Progress::losses_fall().
  using Finished = std::function<void(const Trainer& trainer, bool losses_fall)>;
  Finished finished{};
  bool is_stage = false;  ///< part of a larger command, which prints its own result
};

/// Adds --epochs to a command.
void add_epochs(Command& command, RunLength& length);

/// Returns whether the user sets this key with --set.
bool is_set(const RunOptions& run, const char* key);

/// Trains the run to its end, or until a signal. Returns the exit code.
int train_command(const TrainArguments& arguments);

/// A run to continue, as `dikkat resume` does it.
struct ResumeArguments {
  std::string run_directory{};
  std::vector<std::string> set{};
  std::string base{};
  bool latest_good = false;
  bool profile = false;
  bool is_stage = false;  ///< as in TrainArguments
};

/// Continues a run to its end, or until a signal; a finished run is left unchanged. Returns the exit code.
int resume_command(const ResumeArguments& arguments);

}  // namespace dikkat
