#pragma once

#include <limits>
#include <optional>

#include "optim/schedule.h"
#include "train/data/prefetcher.h"
#include "train/loop/background_saver.h"
#include "train/loop/bad_step.h"
#include "train/loop/trainer.h"

namespace dikkat {

/// A training run as it goes on: what Trainer hides. Members are made in this order: what can fail because of the input comes before the
/// run directory, which is the first to write.
struct TrainingRun {
  TrainingRun(Config c, TrainingData d, std::uint64_t seed);

  /// Keeps in the state what this program was built from.
  void record_build();
  /// Maps the memory of the run, and touches none of it. Throws InputError where there is less than that at all.
  void reserve();
  /// That, and gives weights their first values.
  void allocate();
  Snapshot snapshot();
  /// Steps, saves and evaluations to train.max_steps, or until `stop`.
  Trainer::Outcome go_on(TrainingEvents& events, const std::function<bool()>& stop);
  /// The run's first steps and a block of an evaluation, without a run directory.
  Trial try_out(index steps);
  bool evaluates() const { return config.train.eval_interval > 0 && data.validation.samples != nullptr; }
  /// What an evaluation changes; whether it is the best so far.
  bool take(const EvaluationReport& report);

  Config config;
  TrainingData data;
  LanguageModel model;
  Loader loader;
  Schedule schedule;
  Evaluator evaluator;
  std::string config_text;
  TrainingState state;
  std::unique_ptr<Optimizer> optimizer;
  std::optional<RunDirectory> directory;
  std::optional<BackgroundSaver> saver;  // after the directory, whose lock it outlives not
  index saved_step = -1;                 // of the newest checkpoint; -1: there is none
  std::optional<MetricsLog> metrics;
  Tape tape;
  MemoryPlan memory;
  double gemm_rate = std::numeric_limits<double>::quiet_NaN();
  std::function<double()> measure_gemm_rate;
  Profile* profile = nullptr;

 private:
  index evaluated_samples() const;
  bool due(index interval) const { return interval > 0 && state.step % interval == 0; }

  Trainer::Outcome steps(TrainingEvents& events, const std::function<bool()>& stop);
  StepReport step(Prefetcher& batches, TrainingEvents& events);
  /// What speaks against the update of a step; empty: nothing.
  std::string objection_to(const StepReport& report) const;
  void apply(const StepReport& report, TrainingEvents& events);
  void skip_or_fail(const StepReport& report, const std::string& objection, TrainingEvents& events);
  std::string last_good() const;

  enum class IfFailed { as_configured, end };
  void attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write);
  void save(TrainingEvents& events, IfFailed if_failed = IfFailed::as_configured);
  void collect(TrainingEvents& events, bool wait);
  void take(const SavedCheckpoint& saved, TrainingEvents& events);
  /// False when stopped before it was done: it stays pending.
  bool evaluate(TrainingEvents& events, const std::function<bool()>& stop);

  IfFailed if_save_failed = IfFailed::as_configured;  // of the save that is under way
  std::vector<double> losses;                         // of the micro-batches of the step at hand
};

}  // namespace dikkat
