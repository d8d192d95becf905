#pragma once

#include <string>

#include "train/cli/shared_options.h"

namespace dikkat {

/// Prints the notes on the model. Also prints a note if `taken`, which was chosen by default, is not the run's newest checkpoint, as after
/// overfitting.
void report_chosen_checkpoint(const ModelArguments& arguments, const ModelOrigin& taken);
/// Prints a note if the run directory that a new run starts from has a checkpoint newer than its best one. Ignores any other source.
void report_chosen_origin(const std::string& source);

}  // namespace dikkat
