#include "optim/update_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/base/error.h"

namespace dikkat {

double UpdateSchedule::weight_decay_factor(index step) const {
  const double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(rate.decay_steps));
  switch (weight_decay) {
    case WeightDecay::constant: return 1;
    case WeightDecay::with_rate: return rate(step) / rate.learning_rate;
    case WeightDecay::linear: return 1 - done;
    case WeightDecay::cosine: return done == 1 ? 0 : 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  fail("update schedule: unknown schedule of weight decay");
}

double UpdateSchedule::momentum_at(index step) const {
  const auto& [start, peak, end, warmup_steps] = momentum;
  const double risen = step < warmup_steps ? static_cast<double>(step) / static_cast<double>(warmup_steps) : 1;
  const double before_decay = risen == 1 ? peak : start + risen * (peak - start);
  return before_decay + rate.decayed(step) * (end - before_decay);
}

Update UpdateSchedule::at(index step) const {
  return {.learning_rate = rate(step), .weight_decay_factor = weight_decay_factor(step), .momentum = momentum_at(step)};
}

}  // namespace dikkat
