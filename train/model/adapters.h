#pragma once

#include <string>
#include <vector>

#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"
#include "train/model/model_source.h"

namespace dikkat {

// Runs that train adapters (lora.rank above 0). Their checkpoints hold the adapters as "adapter/<parameter>" and not the weights of the model that these
// adapt, the base: its path (train.init_from) and its hash (TrainingState::base_hash) name it. Where the path is a run directory, the hash says which of its
// checkpoints is the base.

/// The sha256 of the weights that are no adapters, of 64 hexadecimal digits: equal for equal weights, whatever files they come from.
std::string hash_of_base(const ParameterStore& store);

/// Loads what a checkpoint of adapters describes: into a store with adapters, base and adapters; into one without, the base with the adapters added to its
/// weights, which is the same model. Throws InputError if the base is missing, or its weights have another hash.
void load_adapted(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {});
/// Loads the adapters of a checkpoint into a store that has them, without their base.
void load_adapters(const CheckpointFile& checkpoint, ParameterStore& store);
/// The weights of any checkpoint with this configuration: load_adapted() or load_weights().
void load_model(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {});

}  // namespace dikkat
