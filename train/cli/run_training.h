#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dikkat {

class Trainer;

struct TrainingOptions {
  bool profile = false;
  bool is_stage = false;  ///< part of a larger command, which prints its own result
  /// Called when the run has finished, before its path is printed. `losses_fall` is Progress::losses_fall().
  std::function<void(const Trainer& trainer, bool losses_fall)> finished{};
};

/// Prints the remarks on a new or resumed run, and those of `keys` ("section.key", given by the user) that have no effect in it.
void print_remarks(const Trainer& trainer, const std::vector<std::string>& keys);

/// Trains a run to its end, or until a signal to any rank: prints the introduction, the progress and the result. Ranks other than the first
/// print nothing. All ranks call it. Returns the exit code.
int train_to_end(Trainer& trainer, const TrainingOptions& options);

}  // namespace dikkat
