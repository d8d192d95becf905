#pragma once

#include <string>

#include "train/cli/shared_options.h"

namespace dikkat {

/// Tells the user if the checkpoint that was `taken` of a run directory by default is not the newest, as after overfitting.
void tell_of_the_checkpoint(const ModelArguments& arguments, const ModelOrigin& taken);
/// The same of the run directory that a new run starts from; anything else is passed over.
void tell_of_the_origin(const std::string& source);

}  // namespace dikkat
