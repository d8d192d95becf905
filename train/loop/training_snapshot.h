#pragma once

#include <string>

#include "autograd/tape/parameters.h"
#include "optim/adamw.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// All of a run for a checkpoint; the tensors stay where they are.
Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, ParameterStore& parameters,
                           AdamW& optimizer);

/// Both moments from a checkpoint. Throws InputError unless it has exactly those of the store's parameters.
void load_moments(const CheckpointFile& checkpoint, ParameterStore& parameters, AdamW& optimizer);

}  // namespace dikkat
