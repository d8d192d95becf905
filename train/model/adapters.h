#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"
#include "train/model/model_origin.h"
#include "train/model/used_weights.h"
#include "train/system/sha256.h"

namespace dikkat {

// Loading of runs that train adapters (lora.rank above 0). Their checkpoints hold the adapters, and the parameters that are trained in full
// with them (lora.modules_to_save), as "adapter/<parameter>". They do not hold the weights of the model that they adapt, the base. The
// base's path is train.init_from, its hash TrainingState::base_hash. If the path is a run directory, the hash selects one of its
// checkpoints.

/// The hash of a base's weights, before they are packed. Equal weights have equal hashes, whatever files they come from.
class HashOfBase {
 public:
  /// Adds a parameter whose values have just been loaded from the base. The order of the calls does not matter.
  void add(const ParameterStore::Entry& entry);
  /// Returns the sha256 of all parameters, as 64 hexadecimal digits.
  std::string finish() const;

 private:
  std::map<std::string, Digest> parameters_;  // sorted by path, so that the hash does not depend on the store's layout
};

/// Loads the model of a checkpoint of adapters. A store with adapters receives base and adapters; one without them receives the base's
/// weights with the adapters added, an equal model. Parameters that are trained in full have the checkpoint's values. Throws InputError if
/// the base is missing, or if its weights have another hash.
void load_adapted(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {},
                  Weights weights = Weights::used);
/// Loads the weights of any checkpoint with this configuration, by load_adapted() or load_weights().
void load_model(const CheckpointFile& checkpoint, const Config& config, ParameterStore& store, const ParameterStore::Loaded& loaded = {},
                Weights weights = Weights::used);

}  // namespace dikkat
