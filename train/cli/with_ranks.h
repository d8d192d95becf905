#pragma once

#include <functional>
#include <memory>

#include "train/parallel/launcher.h"
#include "train/parallel/ranks.h"

namespace dikkat {

/// Runs a command on the ranks that a launcher (mpirun, srun) started, or in this process if there is no launcher. Every rank calls this.
/// Only the first rank prints messages. If an error occurs on one rank only, all ranks are aborted. Otherwise all exit cleanly: then this
/// returns the exit code on the first rank, and 0 on the others.
int with_ranks(const std::function<int(const std::shared_ptr<Ranks>& ranks)>& command);

/// Throws LaunchError if a launcher started this process as one of several. `command` cannot share its work among them.
void require_one_process(const char* command);

/// Returns whether this process prints the error: it is the first one of the job, or of the machine, that hits it.
bool is_first_to_fail(const LaunchError& failure);

}  // namespace dikkat
