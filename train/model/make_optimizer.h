#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/update_schedule.h"
#include "train/config/config.h"

namespace dikkat {

/// The rows of new tokens, whose rate is that of optim.new_rows_lr_scale.
struct NewRows {
  std::vector<std::string> tables{};  // paths of the matrices that have them; empty: there are none
  index first = 0, last = 0;          // rows [first, last)
};

/// Freezes the parameters that optim.groups name, lays the store out and makes its optimizer. Throws InputError for a group that selects no
/// parameter, and if no parameter is left to train.
std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, ParameterStore& store, const NewRows& new_rows = {});

/// Returns how the learning rate, weight decay and momentum change from step to step. The configuration is resolved.
UpdateSchedule make_schedule(const OptimConfig& config);

}  // namespace dikkat
