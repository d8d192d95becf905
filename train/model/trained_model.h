#pragma once

#include <memory>

#include "train/checkpoint/checkpoint_list.h"
#include "train/model/language_model.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The configuration in a checkpoint. Throws InputError where it cannot be understood; whether it may be used, validate() says.
Config config_of(const CheckpointFile& checkpoint);
/// Weights from a checkpoint. Throws InputError unless it has exactly the store's parameters.
void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters);

/// A checkpoint, checked, with the configuration and tokenizer in it and the model with its weights.
struct TrainedModel {
  CheckpointFile checkpoint;
  Config config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
};

/// Throws InputError for a source (RUN_DIR or FILE.h5) that cannot be used.
TrainedModel load_trained_model(const std::string& source, bool best);

}  // namespace dikkat
