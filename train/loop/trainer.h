#pragma once

#include <functional>
#include <optional>
#include <string>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "train/checkpoint/run_directory.h"
#include "train/config/config.h"
#include "train/data/loader.h"
#include "train/loop/evaluate.h"
#include "train/loop/memory_plan.h"
#include "train/loop/metrics.h"
#include "train/loop/profile.h"
#include "train/loop/training_data.h"
#include "train/model/language_model.h"

namespace dikkat {

/// What a trainer tells while it works. The default is to say nothing.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;
  virtual void stepped(const StepReport&) {}
  virtual void evaluating(double /*share_done*/) {}
  virtual void evaluated(const EvaluationReport&) {}
  virtual void saved(const SavedCheckpoint&) {}
  /// An update was left out (train.on_nonfinite = "skip"), and a file could not be written (train.on_failed_save = "continue"): a sentence
  /// that says which and why.
  virtual void skipped(const std::string&) {}
  virtual void write_failed(const std::string&) {}
};

struct StartOptions {
  std::string init_from;       // a checkpoint (RUN_DIR or FILE.h5) whose weights and tokenizer the run begins with; empty: none
  LoadingProgress progress{};  // of the corpus
};

/// Steps that were made to see how they go.
struct Trial {
  std::vector<StepReport> steps;
  double evaluation_seconds = 0;  // of one evaluation, by a block of it; 0 where there is none
  std::size_t peak = 0;           // memory of the process at its highest so far, in bytes
};

/// A training run in the hands of its process: everything that it needs is read and checked when it is constructed, and nothing
/// is written before that.
class Trainer {
 public:
  /// A new run in the folder `out`, which is made. The configuration is resolved. Throws InputError for a corpus, configuration or
  /// folder that cannot be used.
  static Trainer start(Config config, const std::filesystem::path& out, const StartOptions& options = {});

  /// The same without a folder: for memory_plan(), disk_plan() and try_out(). Memory is mapped, and not filled.
  static Trainer plan(Config config, const StartOptions& options = {});

  struct ResumeOptions {
    std::vector<std::string> overrides;  // "section.key=value"
    Pick pick = Pick::newest;
  };
  /// Goes on from a checkpoint of the run. Throws InputError where it is damaged, its corpus has changed, or an override is not
  /// one that a run can take.
  static Trainer resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress = {});

  Trainer(Trainer&&) noexcept;
  ~Trainer();

  const Config& config() const;
  const TrainingData& data() const;
  const LanguageModel& model() const;
  const TrainingState& state() const;
  const std::filesystem::path& directory() const;
  /// For people, of resume(): which keys have other values than before and what follows from that, what is wrong with newer checkpoints and
  /// the name that each has now (Pick::latest_good), and what config.toml says that does not count.
  const std::vector<std::string>& remarks() const;
  /// Samples (windows of block_size tokens, or pairs) in an epoch.
  index epoch_size() const;
  /// Known before the first step, by a dry one.
  const MemoryPlan& memory_plan() const;
  DiskPlan disk_plan() const;

  bool finished() const;

  /// Of plan(): makes the run's first steps, and a block of an evaluation, and leaves nothing behind. Once.
  Trial try_out(index steps);

  /// For StepReport::mfu: `measure` (gemm_rate(), machine_rate.h) is asked now, and again after a step that was faster than it said,
  /// because another program ran then. Gives what it said now, FLOP/s.
  double measure_gemm_rate(std::function<double()> measure);
  /// Has the steps to come told to `profile`, which must outlive them.
  void set_profile(Profile* profile);

  enum class Outcome { finished, stopped };
  /// Trains to train.max_steps, or until `stop` says true: then the step at hand is finished and saved. A run that has no checkpoint yet
  /// begins with one. Throws Error when a loss or gradient is not finite (before it is applied, with its batch written to
  /// RUN_DIR/bad-step-N.json) or a checkpoint cannot be saved, unless the configuration says to go on.
  Outcome run(TrainingEvents& events, const std::function<bool()>& stop);

 private:
  struct Parts;
  explicit Trainer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
