#pragma once

#include <functional>

#include "train/config/config.h"
#include "train/model/model_origin.h"

namespace dikkat {

// Fine-tuning: a run whose weights, model and tokenizer come from `origin` (train.init_from), a checkpoint or another program's files.

/// Returns such a run's configuration before any keys are set: [model], [tokenizer] and data.window of the origin, and defaults.
Config config_of_origin(const ModelOrigin& origin);

/// Resolves the configuration of such a run: keys of [model] that are not set take the origin's values. Throws InputError, with the key and
/// both values, if a key has another value than the origin's. Only model.dropout may differ, and model.block_size if no table limits
/// positions.
void adopt_model(Config& config, const ModelOrigin& origin);

/// Returns the configuration of a new run, resolved and valid. `write` gets the values of keys that are not given, and returns them with
/// the given ones. These values are the defaults. If the result has train.init_from, `write` is called again, with config_of_origin().
/// Throws InputError if the configuration is not valid.
Config complete_config(const std::function<Config(Config others)>& write);

/// Takes over the chat template of the origin, unless the configuration names one, and its sampling of answers, unless the configuration
/// sets any of it. A run on texts only keeps the template, and does not use it.
void adopt_template(Config& config, const ModelOrigin& origin);

}  // namespace dikkat
