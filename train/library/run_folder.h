#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint/run_directory.h"
#include "train/library/checkpoint.h"
#include "train/metrics/metrics_log.h"

namespace dikkat {

/// One step of a program's own loop. Numbers that are not set are left out of the curves.
struct LoopStep {
  index step = 0;   // steps done, including this one
  double loss = 0;  // loss of the step, before the update
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();
  double learning_rate = std::numeric_limits<double>::quiet_NaN();
  index tokens = 0;                                           // tokens or samples of the step, for an axis and a curve of the report
  double seconds = std::numeric_limits<double>::quiet_NaN();  // default: the time since the last entry
};

/// An evaluation by a program's own loop.
struct LoopEvaluation {
  index step = 0;       // steps done
  double val_loss = 0;  // the loss on data that training does not see; the lowest one is the best
  double train_loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<std::string, double>> measures{};  // other numbers by name, such as {"accuracy", 0.97}
};

/// The folder of a run of a program's own training loop, with checkpoints and metrics.jsonl. `dikkat report`, `watch`, `runs` and
/// `export-metrics` read it. A program that is started again continues after the newest checkpoint, with the same bits:
///
///   RunFolder run("runs/mine", {.settings = {{"width", "64"}}});
///   index step = run.resume(parameters, adamw, {{"loader", loader_state}});   // 0 in a new folder
///   for (...; step < kSteps;) {
///     ...                                                                     // compute the loss, update the weights
///     run.log_step({.step = ++step, .loss = loss});
///     if (step % 100 == 0) run.save(parameters, adamw, step, {{"loader", loader.state()}});
///   }
///   run.finish();
///
/// The folder is locked while this lives, so no other process writes to it.
class RunFolder {
 public:
  struct Options {
    index keep_last = 2;     // how many checkpoints to keep, in addition to the best; 1 or more
    Settings settings = {};  // settings for the report and for `dikkat runs diff`
  };

  /// Makes the folder, or takes that of an earlier start. Throws InputError if it has other files, cannot be written or is in use.
  explicit RunFolder(const std::filesystem::path& path) : RunFolder(path, Options{}) {}
  RunFolder(const std::filesystem::path& path, Options options);

  const std::filesystem::path& path() const { return directory_.path(); }

  /// Loads the newest checkpoint as load() does, and returns its step: 0 if there is none, and nothing is loaded. Call it once, before the
  /// loop. Lines of metrics.jsonl about later steps are removed, because the loop writes them again. Throws what load() throws.
  index resume(ParameterStore& parameters, Optimizer& optimizer, std::span<const LoadedArray> arrays = {});
  index resume(ParameterStore& parameters, Optimizer& optimizer, std::initializer_list<LoadedArray> arrays) {
    return resume(parameters, optimizer, std::span(arrays.begin(), arrays.size()));
  }
  /// Does the same for several models.
  index resume(std::span<const NamedModel> models, std::span<const LoadedArray> arrays = {});
  index resume(std::span<const NamedModel> models, std::initializer_list<LoadedArray> arrays) {
    return resume(models, std::span(arrays.begin(), arrays.size()));
  }

  // These throw Error before resume(), and if the disk is full or the folder was taken away.

  void log_step(const LoopStep& step);
  void log_evaluation(const LoopEvaluation& evaluation);
  /// Saves checkpoints/step-NNNNNNNNN.h5 as save() does, and removes older ones. If the evaluation of this step has the lowest val_loss so
  /// far, the checkpoint becomes the best one, whichever of the two comes first.
  void save(const ParameterStore& parameters, Optimizer& optimizer, index step, std::span<const SavedArray> arrays = {});
  void save(const ParameterStore& parameters, Optimizer& optimizer, index step, std::initializer_list<SavedArray> arrays) {
    save(parameters, optimizer, step, std::span(arrays.begin(), arrays.size()));
  }
  void save(std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays = {});
  void save(std::span<const NamedModel> models, index step, std::initializer_list<SavedArray> arrays) {
    save(models, step, std::span(arrays.begin(), arrays.size()));
  }
  /// Returns the checkpoint with the lowest val_loss, for load(); an empty path if there is none.
  std::filesystem::path best() const;
  /// Records that all steps are done.
  void finish();

 private:
  struct Best {
    index step = -1;
    double val_loss = std::numeric_limits<double>::infinity();
  };

  MetricsLog& log();
  index begin(index parameters, const std::function<index()>& load_newest);
  void save_snapshot(const Snapshot& snapshot);
  void record_settings(const Settings& before);
  void record_best();
  double seconds_since_entry();

  RunDirectory directory_;
  Options options_;
  std::optional<MetricsLog> log_;
  index last_step_ = 0;
  index saved_step_ = -1;
  Best evaluated_, best_;  // the last evaluation, and the best checkpoint's
  std::chrono::steady_clock::time_point last_entry_;
};

}  // namespace dikkat
