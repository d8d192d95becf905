#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"
#include "train/model/model_source.h"
#include "train/model/used_weights.h"
#include "train/system/sha256.h"

namespace dikkat {

// Runs that train adapters (lora.rank above 0). Their checkpoints hold the adapters as "adapter/<parameter>" and not the weights of the
// model that these adapt, the base: its path (train.init_from) and its hash (TrainingState::base_hash) name it. Where the path is a run
// directory, the hash says which of its checkpoints is the base.

/// The hash of a base's weights, before they are packed: equal for equal weights, whatever files they come from.
class HashOfBase {
 public:
  /// A parameter whose values have just been loaded; in any order.
  void add(const ParameterStore::Entry& entry);
  /// The sha256 of all, of 64 hexadecimal digits.
  std::string finish() const;

 private:
  std::map<std::string, Digest> parameters_;  // by path, so that it does not depend on how a store is laid out
};

/// Loads what a checkpoint of adapters describes: into a store with adapters, base and adapters; into one without, the base with the
/// adapters added to its weights, which is the same model. Throws InputError if the base is missing, or its weights have another hash.
void load_adapted(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {},
                  Weights weights = Weights::used);
/// Loads the adapters of a checkpoint into a store that has them, without their base.
void load_adapters(const CheckpointFile& checkpoint, ParameterStore& store, Weights weights);
/// The weights of any checkpoint with this configuration: load_adapted() or load_weights().
void load_model(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {},
                Weights weights = Weights::used);

}  // namespace dikkat
