#pragma once

#include <memory>

#include "optim/optimizer.h"
#include "train/config/config.h"

namespace dikkat {

/// Freezes the parameters that optim.groups say, lays the store out and makes its optimizer. Throws InputError for a group that selects no
/// parameter, and if no parameter is left to train.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, ParameterStore& store);

}  // namespace dikkat
