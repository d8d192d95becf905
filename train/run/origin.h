#pragma once

#include "train/config/config.h"
#include "train/model/model_origin.h"

namespace dikkat {

// Fine-tuning: a run whose weights, model and tokenizer come from `origin` (train.init_from), a checkpoint or another program's files.

/// What the keys of such a run mean before the user sets any: [model] and [tokenizer] as in the origin, defaults elsewhere.
Config config_of_origin(const ModelOrigin& origin);

/// Resolves the configuration of such a run: keys of [model] that are not set take the origin's values. Throws InputError if a key is
/// set to another value than the origin's, with the key and both values. Only model.dropout may differ, and model.block_size where no table
/// limits positions.
void adopt_model(Config& config, const ModelOrigin& origin);

}  // namespace dikkat
