#include "train/assistant/machine_measure.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/seconds_since.h"
#include "train/assistant/assumptions.h"
#include "train/config/resolve.h"
#include "train/machine/rate.h"
#include "train/model/precision.h"
#include "train/run/origin.h"
#include "train/run/trainer.h"
#include "train/run/trial.h"

namespace dikkat::assistant {
namespace {

Config config_of(const StageRun& run) {
  return complete_config([&](Config config) {
    for (const ConfigEdit& edit : run.edits) {
      edit.apply(config);
    }
    config.data.corpus = run.corpus;
    config.train.init_from = run.init_from;
    return config;
  });
}

/// Returns the time of a step: the lower quartile, since other programs can only make a step slower. A trial makes no saves, so their time
/// is added.
double step_seconds(const Trial& trial) {
  std::vector<double> seconds;
  std::ranges::transform(trial.steps, std::back_inserter(seconds), &StepReport::seconds);
  const auto quartile = seconds.begin() + std::ssize(seconds) / 4;
  std::ranges::nth_element(seconds, quartile);
  return kSaves * *quartile;
}

}  // namespace

double MachineMeasure::product_rate() {
  TrainConfig train;
  train.precision = precision_;
  return gemm_rate(operand_type(train));
}

StageTrial MachineMeasure::try_stage(const StageRun& run, const std::string& sample) {
  const auto start = Clock::now();
  Trainer trainer = Trainer::plan(config_of(run), [&](const LoadingReport& report) { events_.reading(report); });
  const Tokenizer& tokenizer = *trainer.data().tokenizer;
  StageTrial found{.loading_seconds = seconds_since(start),
                   .epoch_windows = trainer.loader().epoch_size(),
                   .tokens = trainer.data().train_tokens(),
                   .vocab_size = tokenizer.vocab_size(),
                   .tokenizer = tokenizer.to_json()};
  const auto tokens = static_cast<double>(tokenizer.encode(sample).size());
  found.bytes_per_token = tokens > 0 ? static_cast<double>(sample.size()) / tokens : 1;
  const Trial trial = run_trial(trainer, kTrialSteps);
  found.step_seconds = step_seconds(trial);
  found.evaluation_seconds = trial.evaluation_seconds;
  events_.tried();
  return found;
}

std::string MachineMeasure::objection_to(const StageRun& run, const std::string& tokenizer) {
  const ResolvedConfig config(config_of(run));
  const KnownCorpus known{.tokenizer = tokenizer};
  try {
    load_training_data(config, &known);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

double MachineMeasure::seconds() { return seconds_since(start_); }

}  // namespace dikkat::assistant
