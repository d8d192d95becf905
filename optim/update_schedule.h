#pragma once

#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace dikkat {

/// Everything that changes from update to update, as pure functions of the step.
struct UpdateSchedule {
  Schedule rate{};

  /// The factor of weight decay: 1; the rate as a share of its peak; or a number that falls from 1 at the first step to 0 at
  /// rate.decay_steps, linearly or along half a cosine.
  enum class WeightDecay { constant, with_rate, linear, cosine } weight_decay = WeightDecay::constant;

  /// Momentum rises linearly from `start` to `peak` within warmup_steps, and moves to `end` while the learning rate falls to min_lr.
  struct Momentum {
    double start = 0.95, peak = 0.95, end = 0.95;
    index warmup_steps = 0;
  } momentum{};

  /// Returns the factor for step `step`, which counts from 0.
  double weight_decay_factor(index step) const;
  double momentum_at(index step) const;
  /// Returns an update with all of these values; its `step` and gradient_scale keep their defaults.
  Update at(index step) const;
};

template <>
struct Names<UpdateSchedule::WeightDecay> {
  static constexpr std::string_view of[] = {"constant", "with_rate", "linear", "cosine"};
};

}  // namespace dikkat
