#pragma once

#include <string>

#include "autograd/tape/parameters.h"
#include "optim/adamw.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"
#include "train/config/config.h"

namespace dikkat {

/// All of a run for a checkpoint; the tensors stay where they are.
Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, ParameterStore& parameters,
                           AdamW& optimizer);

/// The configuration in a checkpoint. Throws InputError where it cannot be understood; whether it may be used, validate() says.
Config config_of(const CheckpointFile& checkpoint);
/// Weights from a checkpoint. Throws InputError unless it has exactly the store's parameters.
void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters);
/// Both moments, likewise.
void load_moments(const CheckpointFile& checkpoint, ParameterStore& parameters, AdamW& optimizer);

}  // namespace dikkat
