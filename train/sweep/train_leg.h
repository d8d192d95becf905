#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "train/run/trainer.h"
#include "train/sweep/sweep.h"

namespace dikkat {

/// Functions to watch and stop a leg.
struct LegWatch {
  LoadingProgress loading;
  std::function<std::unique_ptr<TrainingEvents>(const Trainer&)> events;
  std::function<bool()> stop;
};

/// Trains the run in the folder `run` until leg.steps: begins it, or continues from its newest checkpoint as `dikkat resume` does. So a run
/// in legs has the losses and weights of an uninterrupted one. If asked to stop, saves the run and returns nullopt. A run that diverges is
/// a result too. Rethrows other errors of Trainer.
std::optional<LegResult> train_leg(const Leg& leg, Config config, const std::filesystem::path& run, const LegWatch& watch);

}  // namespace dikkat
