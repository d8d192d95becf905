#include "train/sweep/train_leg.h"

#include "autograd/base/error.h"
#include "train/metrics/read_metrics.h"

namespace dikkat {
namespace {

struct StoppedWhileLoading {};

Trainer trainer_of(const Leg& leg, Config config, const std::filesystem::path& run, const LoadingProgress& loading) {
  const auto checkpoints = list_checkpoints(run);
  if (checkpoints.empty()) {
    config.train.seed = leg.seed;
    config.train.max_steps = leg.steps;  // the schedule was resolved for all steps
    return Trainer::start(std::move(config), run, loading);
  }
  // A checkpoint notes each change, so this changes the key only where a leg begins. Then an interrupted run ends in the same bytes.
  Trainer::ResumeOptions options;
  if (leg.from > 0 && checkpoints.back().step <= leg.from) {
    options.overrides = {concat("train.max_steps=", leg.steps)};
  }
  return Trainer::resume(run, options, loading);
}

}  // namespace

std::optional<LegResult> train_leg(const Leg& leg, Config config, const std::filesystem::path& run, const LegWatch& watch) {
  LegResult result{.leg = leg};
  try {
    // Begin or continue the run, and train it to the end of the leg.
    Trainer trainer = trainer_of(leg, std::move(config), run, [&](const LoadingReport& report) {
      if (watch.stop()) {
        throw StoppedWhileLoading();
      }
      watch.loading(report);
    });
    const auto events = watch.events(trainer);
    try {
      if (!trainer.finished() && trainer.run(*events, watch.stop) == Trainer::Outcome::stopped) {
        return std::nullopt;
      }
    } catch (const Diverged& diverged) {
      result.failure = diverged.reason();
    }
    result.step = trainer.state().step;
    require_input(!result.failure.empty() || result.step == leg.steps, run.string(), " is at step ", result.step, ", expected step ",
                  leg.steps, ": another command has trained it; move it away, and the sweep trains it again");
  } catch (const StoppedWhileLoading&) {
    return std::nullopt;
  }
  // Read the result from the run's metrics.
  result.seconds = read_seconds(run, result.step);
  if (result.failure.empty()) {
    if (const auto evaluation = read_evaluation(run, leg.steps)) {
      result.loss = evaluation->val_loss;
      result.standard_error = evaluation->val_standard_error;
      result.accuracy = score_of(*evaluation).accuracy;
      result.decided_by = evaluation->decided_by;
      result.scored = evaluation->scored.targets;
    } else {
      result.failure = concat("metrics.jsonl has no validation loss of step ", leg.steps);
    }
  }
  return result;
}

}  // namespace dikkat
