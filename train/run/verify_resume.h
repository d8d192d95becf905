#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "train/run/trainer.h"

namespace dikkat {

struct ResumeProof {
  index steps = 0;           // steps of each of the two runs
  index stop = 0;            // the step after which the second run was stopped and resumed
  int other_threads = 0;     // the number of threads that it was resumed with
  std::string hash{};        // the last checkpoint's hash, if both runs have equal bytes
  std::string difference{};  // otherwise the first difference
};

/// Checks whether a run with this resolved configuration can be resumed to the same bits on this machine. Trains the first `steps` steps (2
/// or more) twice: once in one go, and once with a stop in the middle. After the stop, another number of threads is used. Then it compares
/// the checkpoints. Evaluations are included, shortened to one batch. It works in `folder`, which it creates and removes. Returns nullopt
/// if `stop` returns true.
std::optional<ResumeProof> verify_resume(Config config, index steps, const std::filesystem::path& folder, const LoadingProgress& loading,
                                         const std::function<bool()>& stop, const std::function<void(double)>& progress);

}  // namespace dikkat
