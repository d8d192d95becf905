#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/base/error.h"

namespace dikkat {

double Schedule::operator()(index step) const {
  if (kind == Kind::inverse_sqrt) {
    require(warmup_steps >= 1, "schedule: inverse_sqrt with ", warmup_steps, " warm-up steps, expected 1 or more");
  } else if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  } else if (ends_at_min_lr(kind) && step >= decay_steps) {
    return min_lr;
  }
  const auto done = [&] { return static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps - warmup_steps); };
  const auto warmups = [&] { return static_cast<double>(step + 1) / static_cast<double>(warmup_steps); };
  const auto above_min_lr = [&](double share) { return min_lr + share * (learning_rate - min_lr); };
  switch (kind) {
    case Kind::constant: return learning_rate;
    case Kind::linear: return above_min_lr(1 - done());
    case Kind::cosine: return above_min_lr(0.5 * (1 + std::cos(std::numbers::pi * done())));
    case Kind::inverse_sqrt: return learning_rate * std::min(warmups(), 1 / std::sqrt(warmups()));
  }
  fail("schedule: unknown kind");
}

}  // namespace dikkat
