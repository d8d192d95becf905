#pragma once

#include <memory>

#include "optim/optimizer.h"
#include "train/config/config.h"

namespace dikkat {

/// Freezes what optim.groups say, lays the store out and makes its optimizer. Throws InputError for a group that holds no parameter, and
/// where nothing is left to train.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, ParameterStore& store);

}  // namespace dikkat
