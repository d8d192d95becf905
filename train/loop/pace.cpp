#include "train/loop/pace.h"

#include <algorithm>

namespace dikkat {

Pace pace_of(const TrainConfig& train, const Trial& trial) {
  const auto fastest = std::min_element(trial.steps.begin(), trial.steps.end(),
                                        [](const StepReport& a, const StepReport& b) { return a.seconds < b.seconds; });
  const index evaluations = train.eval_interval > 0 ? ceil_div(train.max_steps, train.eval_interval) : 0;
  return {.step_seconds = fastest->seconds,
          .tokens_per_second = fastest->tokens_per_second(),
          .seconds = fastest->seconds * static_cast<double>(train.max_steps) + trial.evaluation_seconds * static_cast<double>(evaluations)};
}

}  // namespace dikkat
