#pragma once

#include "train/checkpoint/load.h"
#include "train/config/config.h"

namespace dikkat {

/// Weights mean something in the model that they are of, and for its tokens, alone: throws InputError with what differs. Fills in a
/// vocabulary size that `config`, which is resolved, leaves open.
void require_same_model(Config& config, const CheckpointFile& origin);

}  // namespace dikkat
