#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"
#include "train/config/resolve.h"
#include "train/model/language_model.h"
#include "train/model/model_origin.h"
#include "train/model/used_weights.h"
#include "train/text/tokenizer.h"

namespace dikkat {

// Loading and saving of a trained model in one call. examples/trained_model.cpp shows both.

/// A model with its weights, configuration and tokenizer, all of them checked.
struct TrainedModel {
  ModelOrigin origin;
  Config config;  // without [lora], because adapters have been added to the weights
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;  // has its weights
};

/// Loads RUN_DIR (by default its checkpoint with the lowest validation loss), FILE.h5, or another program's files
/// (train/exchange/model_files.h). Throws InputError as ModelOrigin::open() does.
/// With a packing, matrices are packed as pack_weights() does. The model then takes less memory and generates faster, but it cannot be
/// trained or saved. `loaded` is called for each parameter as soon as it is complete, before it is packed.
TrainedModel load_trained_model(const std::string& source, const ModelOptions& options = {}, PackedType weights = PackedType::f32,
                                const ParameterStore::Loaded& loaded = {});

/// Saves a model as a checkpoint without optimizer state, which load_trained_model() and `dikkat eval`, `sample`, `inspect` and `train
/// --init-from` read. Makes the directory and writes `directory`/step-NNNNNNNNN.h5 for state.step; when this returns, the file has been
/// read back and compared. `config` must be the configuration that the model and tokenizer were made with. Throws Error if writing fails,
/// or if another checkpoint has this name (save_checkpoint()).
SavedCheckpoint save_model(const std::filesystem::path& directory, const LanguageModel& model, const Tokenizer& tokenizer, Config config,
                           const TrainingState& state = {});

// Parts of load_trained_model() and save_model(), for other code.

/// Returns the resolved configuration of a checkpoint. Throws InputError if there is none or it cannot be parsed; validate() checks whether
/// it can be used.
/// Adds a remark for each ignored key to `remarks`, unless this is null (parse_config_of_run()).
ResolvedConfig config_of(const CheckpointFile& checkpoint, std::vector<std::string>* remarks = nullptr);
/// Throws InputError if the checkpoint has tensors of an unknown group that must not be ignored (StoredTensor::required).
void require_known_groups(const CheckpointFile& checkpoint);
/// Loads the store's weights, except the factors of adapters, from the checkpoint's group "model". Throws InputError unless both have
/// exactly the same parameters, or what require_known_groups() throws. `loaded` is called for each parameter as soon as it is read.
void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters, const ParameterStore::Loaded& loaded = {},
                  Weights weights = Weights::used);
/// Loads a checkpoint's group "adapter", but not the base, into a store that has adapters. Throws what load_weights() throws.
void load_adapters(const CheckpointFile& checkpoint, ParameterStore& parameters, Weights weights);
/// Returns views of the weights that a checkpoint stores: "model/<parameter>", or for a store with adapters, "adapter/<parameter>" of each
/// parameter that is stored with them (ParameterStore::Entry::with_adapters).
std::vector<TensorView> weights_of(const ParameterStore& parameters);

}  // namespace dikkat
