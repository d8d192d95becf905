#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"
#include "train/model/language_model.h"
#include "train/model/model_source.h"
#include "train/model/used_weights.h"
#include "train/text/tokenizer.h"

namespace dikkat {

// A trained model in one call: load_trained_model() reads it, save_model() writes it. examples/trained_model.cpp shows both.

/// A model with its weights, and what belongs to it. All of it has been checked.
struct TrainedModel {
  ModelSource source;
  Config config;  // without [lora]: adapters have been added to the weights
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;  // with its weights
};

/// Loads RUN_DIR (by default its checkpoint with the lowest validation loss), FILE.h5, or another program's files
/// (train/exchange/model_files.h). Throws InputError as ModelSource::open() does.
/// With a packing, matrices are kept so (not the table of positions): the model takes less memory, generates faster, and cannot be trained
/// or saved.
TrainedModel load_trained_model(const std::string& source, const ModelOptions& options = {}, PackedType weights = PackedType::none);

/// Saves a model as a checkpoint without optimizer state: `dikkat eval`, `sample`, `inspect` and `train --init-from` take it, and
/// load_trained_model(). Writes `directory`/step-NNNNNNNNN.h5 for state.step, and makes the directory; the file has been read back and
/// compared when this returns. `config` is the configuration that the model and tokenizer were made by. Throws Error if that fails, and if
/// another checkpoint has this name already (save_checkpoint()).
SavedCheckpoint save_model(const std::filesystem::path& directory, const LanguageModel& model, const Tokenizer& tokenizer, Config config,
                           const TrainingState& state = {});

// The parts of both.

/// Returns the resolved configuration of a checkpoint. Throws InputError if it cannot be understood; validate() checks whether it can be
/// used. Adds a remark on each key that is ignored to `remarks`, if that is not null (parse_config_of_run()).
Config config_of(const CheckpointFile& checkpoint, std::vector<std::string>* remarks = nullptr);
/// Throws InputError if the checkpoint has tensors of a group that this program does not know and that must not be ignored.
void require_known_groups(const CheckpointFile& checkpoint);
/// Reads the store's weights from a checkpoint. Throws InputError unless the checkpoint has exactly the store's parameters, and if it has
/// tensors besides "model/..." and "optimizer/..." that must not be ignored (StoredTensor::required); load_tensors() reads any group.
/// `loaded` is called for each parameter as soon as it is read.
void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters, const ParameterStore::Loaded& loaded = {},
                  Weights weights = Weights::used);
/// The store's weights for a checkpoint, as "model/<parameter>"; of a store with adapters these alone, as "adapter/<parameter>". They stay
/// where they are.
std::vector<TensorView> weights_of(const ParameterStore& parameters);

}  // namespace dikkat
