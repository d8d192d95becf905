#pragma once

#include <functional>
#include <memory>

#include "train/parallel/ranks.h"

namespace dikkat {

/// Runs a command on the ranks that a launcher (mpirun, srun) has started: each calls this. Null: there is no launcher, and the command
/// runs in this process alone. Of several ranks only the first speaks. An error that one rank meets by itself ends all of them. Returns the
/// exit code; where all end in order it is the first one's, and 0 on the others.
int with_ranks(const std::function<int(std::shared_ptr<Ranks> ranks)>& command);

}  // namespace dikkat
