#pragma once

#include "train/checkpoint/load.h"
#include "train/config/config.h"

namespace dikkat {

// Fine-tuning: a run whose weights, model and tokenizer come from the checkpoint `origin` (train.init_from).

/// What the keys of such a run mean before the user sets any: [model] and [tokenizer] as in the checkpoint, defaults elsewhere.
Config config_of_origin(const CheckpointFile& origin);

/// Resolves the configuration of such a run: keys of [model] that are not set take the checkpoint's values. Throws InputError if a key is
/// set to another value than the checkpoint's, with the key and both values. Only model.dropout may differ.
void adopt_model(Config& config, const CheckpointFile& origin);

}  // namespace dikkat
