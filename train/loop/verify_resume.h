#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "train/loop/trainer.h"

namespace dikkat {

struct ResumeProof {
  index steps = 0;           // trained in one go, and in two
  index stop = 0;            // where the one of two was stopped
  int other_threads = 0;     // that it went on with
  std::string hash{};        // of the checkpoint in the end, when both have the same bytes
  std::string difference{};  // else the first thing in which they differ
};

/// Whether a run with this configuration, which is resolved, can be resumed to the same bits on this machine: trains its first `steps`
/// steps (2 or more) once in one go, and once with a stop in the middle after which it goes on with another number of threads, and compares
/// the checkpoints. Evaluations are in it, cut to one batch. Works in `folder`, which is made and removed again. nullopt when `stop` said
/// true.
std::optional<ResumeProof> verify_resume(Config config, index steps, const std::filesystem::path& folder, const LoadingProgress& loading,
                                         const std::function<bool()>& stop, const std::function<void(double)>& progress);

}  // namespace dikkat
