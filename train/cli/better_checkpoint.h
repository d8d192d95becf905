#pragma once

#include <string>

#include "train/model/model_source.h"

namespace dikkat {

/// Tells the user if an earlier checkpoint of the run has a lower validation loss than the newest one, which was `taken`: as after
/// overfitting. `best`: --best was given, so there is nothing to tell.
void tell_of_a_better_checkpoint(const std::string& source, bool best, const ModelSource& taken);

}  // namespace dikkat
