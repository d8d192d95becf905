#pragma once

#include <functional>
#include <memory>

#include "train/checkpoint/snapshot.h"
#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/model/language_model.h"
#include "train/run/objectives/objective.h"

namespace dikkat {

/// The parts of a run that an objective works with. They outlive it.
struct ObjectiveParts {
  const Config& config;
  const LanguageModel& model;
  TrainingData& data;
  TrainingState& state;
};

/// Makes the objective of a run. Programs that train for something else pass another one to Trainer.
using ObjectiveMaker = std::function<std::unique_ptr<Objective>(const ObjectiveParts&)>;

/// Makes the objective that the configuration describes. Records the hash of a teacher's file in the state. Throws InputError if the file
/// is not the one that the run began with, or if TeacherReader refuses it.
std::unique_ptr<Objective> make_objective(const ObjectiveParts& run);

}  // namespace dikkat
