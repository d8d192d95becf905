#include "train/run/trial.h"

#include "train/model/pack_weights.h"
#include "train/system/machine_memory.h"

namespace dikkat {

Trial run_trial(Trainer& trainer, index steps) {
  constexpr double kLongTrial = 10;  // seconds of steps after which a trial ends. It makes several because the first steps vary.
  ParameterStore& parameters = trainer.model_.parameters();
  parameters.initialize(trainer.state_.seed, [&](ParameterStore::Entry& entry) { pack_frozen(parameters, entry); });
  trainer.config_.train.on_nonfinite = OnNonfinite::stop;
  trainer.clock_.limit_passes(kLongTrial);

  const std::unique_ptr<Batches> batches = trainer.batches();
  TrainingEvents nobody;
  Trial trial;
  try {
    for (double seconds = 0; std::ssize(trial.steps) < steps && seconds < kLongTrial; seconds += trial.steps.back().seconds) {
      trial.steps.push_back(trainer.step(*batches, nobody));
    }
  } catch (const Diverged& diverged) {
    throw Diverged(diverged.reason(), diverged.reason());  // without the advice, which is about checkpoints
  }
  if (trainer.evaluates()) {
    trial.evaluation_seconds = trainer.evaluator_.estimate();
  }
  trial.peak = process_memory().peak;
  return trial;
}

}  // namespace dikkat
