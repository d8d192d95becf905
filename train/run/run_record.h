#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/run_directory.h"
#include "train/config/config.h"
#include "train/config/render.h"
#include "train/data/samples/loader.h"
#include "train/metrics/metrics_log.h"
#include "train/parallel/ranks.h"
#include "train/run/background_saver.h"
#include "train/run/bad_step.h"
#include "train/run/training_events.h"

namespace dikkat {

/// Everything that a run writes: its directory, checkpoints, metrics.jsonl and bad steps. It knows which checkpoint is the newest. Only the
/// first rank of a run has a directory. On other ranks, and in a trial, the record is closed, and its functions write nothing.
class RunRecord {
 public:
  /// The reaction to a file that cannot be written: train.on_failed_save decides, or the run ends.
  enum class IfFailed { as_configured, end };

  /// Keeps references. The best evaluation is recorded in `state`. `snapshot` returns what a checkpoint stores.
  RunRecord(const Config& config, TrainingState& state, Ranks& ranks, std::function<Snapshot()> snapshot)
      : config_(config), state_(state), ranks_(ranks), snapshot_(std::move(snapshot)) {}

  /// On the first rank: creates the directory of a new run, with config.toml and an empty metrics.jsonl. Takes the directory of a start
  /// with the same configuration that was killed before its first checkpoint. Throws InputError if the directory cannot be used, or if the
  /// disk has no room for a checkpoint.
  void create(const NewRunPath& out);
  /// Continues after the checkpoint of state.step. On the first rank: takes the directory, opens metrics.jsonl, and drops its later lines.
  /// Throws InputError if the run has steps left and the disk has no room for a checkpoint.
  void reopen(std::optional<RunDirectory> directory);
  /// Removes the directory of create(), as far as possible. Nothing else may be called after it.
  void discard();

  bool is_open() const { return directory_.has_value(); }
  /// These throw Error if the record is closed.
  RunDirectory& directory() { return directory_.value(); }
  const RunDirectory& directory() const { return directory_.value(); }
  const MetricsLog& metrics() const { return metrics_.value(); }
  /// Returns the step of the newest checkpoint; -1 if there is none.
  index saved_step() const { return saved_step_; }

  /// Writes the first lines of metrics.jsonl in this process: the header, unless the file has one, and how the run was resumed.
  void begin(TrainingEvents& events, const RunHeader& header, const std::vector<ConfigDifference>& changes);
  /// Writes a line of metrics.jsonl, by MetricsLog::write().
  template <class... Line>
  void log(TrainingEvents& events, const Line&... line) {
    if (metrics_) {
      attempt(events, IfFailed::as_configured, [&] { metrics_->write(line...); });
    }
  }
  /// Saves a checkpoint, with train.async_save in the background. The one before must have been awaited.
  void save(TrainingEvents& events, IfFailed if_failed);
  /// Records the checkpoint that is being saved in the background, if it is done.
  void collect_save(TrainingEvents& events) { record_save_in_background(events, false); }
  /// Waits for the checkpoint that is being saved in the background, and records it.
  void await_save(TrainingEvents& events) { record_save_in_background(events, true); }
  /// Frees the memory for saving in the background.
  void end_saves() { saver_.reset(); }
  /// Records an evaluation in the state. Returns whether it is the best so far: then its checkpoint gets the name "best". An evaluation
  /// whose step was not saved (train.on_failed_save) is never the best.
  bool record_evaluation(const EvaluationReport& report);
  /// Sends all ranks what the first one has saved and evaluated.
  void agree();

  /// Writes the batch of a step whose update was not applied. Returns "its batch is in FILE", or why the file could not be written.
  std::string write_bad_step(const BadStep& step, const Loader& loader, const Tokenizer& tokenizer);
  /// Returns "The last good checkpoint is FILE", for the message of an error that ends the run.
  std::string last_good() const;
  /// Returns ". The last good checkpoint is FILE; dikkat resume RUN_DIR continues from it". A closed record knows no file.
  std::string advice() const;
  /// Calls `write`. If it fails, throws, or reports the failure to `events`.
  void attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write);

 private:
  void require_space(const std::filesystem::path& run_directory) const;
  void record_save_in_background(TrainingEvents& events, bool wait);
  void record_save(TrainingEvents& events, const SavedCheckpoint& saved);

  const Config& config_;
  TrainingState& state_;
  Ranks& ranks_;
  std::function<Snapshot()> snapshot_;
  std::optional<RunDirectory> directory_;
  std::optional<BackgroundSaver> saver_;  // after the directory, whose lock must be held until the save has ended
  std::optional<MetricsLog> metrics_;
  bool is_new_ = false;  // create() made the directory
  index saved_step_ = -1;
  IfFailed if_save_failed_ = IfFailed::as_configured;  // for the save in the background
};

}  // namespace dikkat
