#pragma once

#include <optional>

#include "train/config/resolve.h"
#include "train/data/training_data.h"
#include "train/model/model_origin.h"
#include "train/run/run_length.h"

namespace dikkat {

/// A run that has not begun.
struct NewRun {
  ResolvedConfig config;  // fitted to its texts and to the model that it starts from, with absolute paths
  TrainingData data;
  std::optional<ModelOrigin> origin;  // the model of train.init_from
};

/// Loads the corpus of a new run. With train.init_from, opens that model, and the configuration takes over its model, tokenizer and chat
/// template. data.notes gets remarks for the user. Throws InputError for a corpus, model or configuration that cannot be used.
NewRun load_new_run(Config given, const LoadingProgress& progress, const RunLength& length);

}  // namespace dikkat
