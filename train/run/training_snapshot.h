#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "optim/optimizer.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// Returns everything that a checkpoint stores of a run. The tensors are views, not copies: weights as "model/<parameter>", the optimizer's
/// state as "optimizer/<slab>/<parameter>".
Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, const ParameterStore& parameters,
                           Optimizer& optimizer);

/// Returns views of the optimizer's state, whose memory must be mapped (Optimizer::reserve()). `prefix` comes before the parameters' names.
std::vector<TensorView> state_of(Optimizer& optimizer, std::string_view prefix = {});

/// Reads the optimizer's state from a checkpoint. Throws InputError unless the checkpoint has exactly the state of the optimizer's
/// parameters.
void load_optimizer(const CheckpointFile& checkpoint, Optimizer& optimizer);

}  // namespace dikkat
