#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/base/error.h"

namespace dikkat {

index Schedule::decay_begin() const {
  if (kind != Kind::wsd) {
    return warmup_steps;
  }
  return std::max(warmup_steps, decay_steps - static_cast<index>(std::llround(decay_share * static_cast<double>(decay_steps))));
}

double Schedule::decayed(index step) const {
  const index begin = decay_begin();
  if (!ends_at_min_lr(kind) || step <= begin) {
    return 0;
  }
  return step >= decay_steps ? 1 : static_cast<double>(step - begin) / static_cast<double>(decay_steps - begin);
}

double Schedule::operator()(index step) const {
  if (kind == Kind::inverse_sqrt) {
    require(warmup_steps >= 1, "schedule: inverse_sqrt with ", warmup_steps, " warm-up steps, expected 1 or more");
  } else if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  } else if (ends_at_min_lr(kind) && step >= decay_steps) {
    return min_lr;
  }
  const auto warmups = [&] { return static_cast<double>(step + 1) / static_cast<double>(warmup_steps); };
  const auto above_min_lr = [&](double share) { return min_lr + share * (learning_rate - min_lr); };
  switch (kind) {
    case Kind::constant: return learning_rate;
    case Kind::linear: return above_min_lr(1 - decayed(step));
    case Kind::cosine: return above_min_lr(0.5 * (1 + std::cos(std::numbers::pi * decayed(step))));
    case Kind::inverse_sqrt: return learning_rate * std::min(warmups(), 1 / std::sqrt(warmups()));
    case Kind::wsd: {
      const double t = decayed(step);
      const double fallen = decay_form == DecayForm::linear ? t : std::sqrt(t);
      return t == 0 ? learning_rate : above_min_lr(1 - fallen);
    }
  }
  fail("schedule: unknown kind");
}

}  // namespace dikkat
