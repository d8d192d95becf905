#pragma once

#include "train/config/config.h"
#include "train/model/model_origin.h"

namespace dikkat {

// Fine-tuning: a run whose weights, model and tokenizer come from `origin` (train.init_from), a checkpoint or another program's files.

/// Returns the configuration that such a run has before the user sets any keys: [model] and [tokenizer] of the origin, and defaults.
Config config_of_origin(const ModelOrigin& origin);

/// Resolves the configuration of such a run: keys of [model] that are not set take the origin's values. Throws InputError, with the key and
/// both values, if a key has another value than the origin's. Only model.dropout may differ, and model.block_size if no table limits
/// positions.
void adopt_model(Config& config, const ModelOrigin& origin);

/// Takes over the chat template of the origin, unless the configuration names one. A run on conversations is written in this template, so
/// it throws InputError if the template is unknown. A run on texts only keeps it.
void adopt_template(Config& config, const ModelOrigin& origin);

}  // namespace dikkat
