#pragma once

#include <string>
#include <string_view>

#include "train/config/config.h"

namespace dikkat {

/// Whether a run begins or continues. A run that continues keeps, for example, its model and its seed.
enum class RunStage { begins, continues };

/// Applies `--set section.key=value`. Strings need no quotes; a list is separated by commas or written as in TOML.
void apply_override(Config& config, std::string_view assignment, RunStage stage = RunStage::begins);

/// Returns the key of an assignment: "train.max_steps" for "train.max_steps=500".
std::string key_of_override(std::string_view assignment);

}  // namespace dikkat
