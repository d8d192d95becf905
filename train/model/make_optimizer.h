#pragma once

#include <memory>

#include "optim/optimizer.h"
#include "optim/update_schedule.h"
#include "train/config/config.h"

namespace dikkat {

/// Freezes the parameters that optim.groups name, lays the store out and makes its optimizer. Throws InputError for a group that selects no
/// parameter, and if no parameter is left to train.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, ParameterStore& store);

/// Returns how the learning rate, weight decay and momentum change from step to step. The configuration is resolved.
UpdateSchedule make_schedule(const OptimConfig& config);

}  // namespace dikkat
