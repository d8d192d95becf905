#pragma once

#include <string>

#include "train/model/trained_model.h"

namespace dikkat {

/// Saves a model as a run at step 0 in a new folder, for eval, sample, export and train --init-from. Returns the checkpoint's path. A new
/// folder is complete as soon as it has its name. Throws InputError if the folder exists and is not empty.
std::string save_run(const TrainedModel& model, const std::string& out);

}  // namespace dikkat
