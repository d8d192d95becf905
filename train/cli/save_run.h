#pragma once

#include <string>

#include "train/model/trained_model.h"

namespace dikkat {

/// Makes a run of a model at step 0, in a new folder: eval, sample, export and train --init-from take it. Returns the checkpoint's path.
/// Throws InputError if the folder is not empty.
std::string save_run(const TrainedModel& model, const std::string& out);

}  // namespace dikkat
