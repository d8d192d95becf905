#pragma once

#include <string>

#include "autograd/tape/parameters.h"
#include "optim/optimizer.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// All of a run for a checkpoint; the tensors stay where they are: weights as "model/<parameter>", the optimizer's state as
/// "optimizer/<slab>/<parameter>".
Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, const ParameterStore& parameters,
                           Optimizer& optimizer);

/// The optimizer's state from a checkpoint. Throws InputError unless it has exactly that of the optimizer's parameters.
void load_optimizer(const CheckpointFile& checkpoint, Optimizer& optimizer);

}  // namespace dikkat
