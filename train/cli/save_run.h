#pragma once

#include <string>

#include "train/model/trained_model.h"

namespace dikkat {

/// Saves a model as a run at step 0 in a new folder, for eval, sample, export and train --init-from. `first_new_token` is that of its
/// state. Returns the checkpoint's path. A new folder is complete as soon as it has its name. Throws InputError if the folder exists and is
/// not empty.
std::string save_run(const TrainedModel& model, const std::string& out, index first_new_token);
inline std::string save_run(const TrainedModel& model, const std::string& out) {
  return save_run(model, out, model.origin.state().first_new_token);
}

}  // namespace dikkat
