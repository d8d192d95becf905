#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/base/error.h"

namespace dikkat {

double Schedule::operator()(index step) const {
  if (kind == Kind::inverse_sqrt) {
    require(warmup_steps >= 1, "schedule: inverse_sqrt with ", warmup_steps, " warm-up steps, expected 1 or more");
    const double warmups = static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    return learning_rate * std::min(warmups, 1 / std::sqrt(warmups));
  }
  if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  }
  if (kind == Kind::constant) {
    return learning_rate;
  }
  if (step >= decay_steps) {
    return min_lr;
  }
  const double done = static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps - warmup_steps);
  const double share = kind == Kind::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return min_lr + share * (learning_rate - min_lr);
}

}  // namespace dikkat
