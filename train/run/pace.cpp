#include "train/run/pace.h"

#include <algorithm>

namespace dikkat {

Pace pace_of(const Trainer& trainer, const Trial& trial) {
  const TrainConfig& train = trainer.config().train;
  const auto fastest = std::min_element(trial.steps.begin(), trial.steps.end(),
                                        [](const StepReport& a, const StepReport& b) { return a.seconds < b.seconds; });
  const Accumulation& accumulation = trainer.accumulation();
  // An objective may score each example once before the first step. A forward pass takes a third of the time of forward and backward.
  const double pass_seconds = (fastest->seconds - fastest->optimizer_seconds) / static_cast<double>(accumulation(fastest->step - 1));
  const index scored = trainer.objective().scores_training() ? ceil_div(trainer.loader().epoch_size(), train.batch_size) : 0;
  const index evaluations = train.eval_interval > 0 ? ceil_div(train.max_steps, train.eval_interval) : 0;
  return {.step_seconds = fastest->seconds,
          .optimizer_seconds = fastest->optimizer_seconds,
          .tokens_per_second = fastest->tokens_per_second(),
          .seconds = pass_seconds / 3 * static_cast<double>(scored) +
                     pass_seconds * static_cast<double>(accumulation.passes(0, train.max_steps)) +
                     fastest->optimizer_seconds * static_cast<double>(train.max_steps) +
                     trial.evaluation_seconds * static_cast<double>(evaluations)};
}

}  // namespace dikkat
