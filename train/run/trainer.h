#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/error.h"
#include "optim/optimizer.h"
#include "optim/update_schedule.h"
#include "train/checkpoint/run_directory.h"
#include "train/config/accumulation.h"
#include "train/config/parse.h"
#include "train/data/loader.h"
#include "train/data/prefetcher.h"
#include "train/data/training_data.h"
#include "train/metrics/metrics_log.h"
#include "train/model/language_model.h"
#include "train/parallel/data_parallel_step.h"
#include "train/parallel/ranks.h"
#include "train/run/background_saver.h"
#include "train/run/machine_rate.h"
#include "train/run/memory_plan.h"
#include "train/run/profile.h"
#include "train/run/prompt_sampler.h"
#include "train/run/run_evaluator.h"
#include "train/run/run_length.h"

namespace dikkat {

/// What a trainer reports while it works. By default nothing happens.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;
  virtual void stepped(const StepReport&) {}
  virtual void evaluating(double /*share_done*/) {}
  virtual void evaluated(const EvaluationReport&) {}
  /// What the model wrote to a prompt (train.sample_prompts), after an evaluation.
  virtual void sampled(const PromptSampler::Continuation&) {}
  /// It could not be sampled: a sentence that says why. The run goes on.
  virtual void not_sampled(const std::string&) {}
  virtual void saved(const SavedCheckpoint&) {}
  /// An update was skipped (train.on_nonfinite = "skip"): a sentence that says which and why.
  virtual void skipped(const std::string&) {}
  /// A file could not be written, and the run continues (train.on_failed_save = "continue"): likewise.
  virtual void write_failed(const std::string&) {}
  /// The run was asked to stop, and is saved. Returns the reason for metrics.jsonl, such as "SIGINT"; empty if it has none.
  virtual std::string stopped() { return ""; }
};

/// Thrown by Trainer::run() when a loss, gradient or weight is not finite, or a loss is a spike, and the configuration does not say to
/// continue. what() also says what to do.
class Diverged : public Error {
 public:
  Diverged(std::string reason, const std::string& what) : Error(what), reason_(std::move(reason)) {}
  /// "step 7: the loss is NaN and the gradient's norm NaN"
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// What the first steps of a run took, made only to measure them.
struct Trial {
  std::vector<StepReport> steps;
  double evaluation_seconds = 0;  // of one evaluation, estimated from a block of it; 0: there is none
  std::size_t peak = 0;           // highest memory use of the process so far, in bytes
};

/// A training run: one object from the first step to the last. start(), plan() and resume() make it; they read and check everything
/// that the run needs before anything is written. It stays where it was made, because its parts refer to each other. Several ranks train
/// one run: each has a Trainer and calls the same functions of it, and the first rank's alone has a directory.
class Trainer {
 public:
  /// A new run in the folder `out`, which is made. The configuration is resolved. With train.init_from, the run takes over that
  /// checkpoint's model, weights and tokenizer (adopt_model(), origin.h), and run() evaluates before the first step. Throws InputError for
  /// a corpus, configuration or folder that cannot be used. `length` may set train.max_steps when the text is known.
  static Trainer start(Config config, const NewRunPath& out, const LoadingProgress& progress = {},
                       std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>(), const RunLength& length = {});

  /// The same without a folder: for memory_plan(), disk_plan() and try_out(). Memory is mapped, and not filled.
  static Trainer plan(Config config, const LoadingProgress& progress = {});

  struct ResumeOptions {
    std::vector<std::string> overrides;  // "section.key=value"
    CheckpointChoice choice = CheckpointChoice::newest;
    std::string base{};  // of adapters whose base has moved: where it is, which later checkpoints say
  };
  /// Continues a run from one of its checkpoints. Throws InputError if the checkpoint is damaged, the corpus has changed, an override
  /// sets a key that is fixed when a run starts, or there is a base but no adapters.
  static Trainer resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress = {},
                        std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>());

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() = default;

  const Config& config() const { return config_; }
  const TrainingData& data() const { return data_; }
  const LanguageModel& model() const { return model_; }
  const TrainingState& state() const { return state_; }
  /// The ranks that train this run; one process is a Ranks too.
  Ranks& ranks() const { return *ranks_; }
  /// Not of plan() and of other ranks than the first, which have none.
  const std::filesystem::path& directory() const { return directory_->path(); }
  /// Sentences for the user, from resume(): keys whose values changed and what follows from that, newer checkpoints that are damaged and
  /// their new names (CheckpointChoice::latest_good), and edits of config.toml, which have no effect.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// Returns what the validation loss is over. Reads the texts at the first call.
  const ScoredSet& scored() { return evaluator_.scored(); }
  /// The run as far as its configuration and texts decide which keys have an effect.
  PlannedRun planned() const;
  /// The order of the samples (windows of block_size tokens, or pairs).
  const Loader& loader() const { return loader_; }
  /// Known before the first step, from a dry run of a step and an evaluation.
  const MemoryPlan& memory_plan() const { return memory_; }
  DiskPlan disk_plan() const;
  /// Forward and backward passes of each step.
  const Accumulation& accumulation() const { return accumulation_; }
  /// Whether all steps and evaluations are done, or the validation loss has not fallen for train.patience evaluations.
  bool finished() const { return (state_.step >= config_.train.max_steps || out_of_patience()) && !state_.evaluation_pending; }
  bool out_of_patience() const;

  /// Of plan(): makes the run's first steps, one or more and at most `steps`, for some seconds, and a block of an evaluation. A step that
  /// takes longer ends after some of its passes, and its time is that of all. Leaves nothing behind. Once.
  Trial try_out(index steps);

  /// For StepReport::mfu: calls `measure` (gemm_rate(), machine_rate.h) now, and later as ReferenceRate does. Returns the rate measured
  /// now, FLOP/s.
  double measure_gemm_rate(std::function<double()> measure);
  const ReferenceRate& reference_rate() const { return reference_rate_; }
  /// Records the time of the coming steps in `profile`, which must outlive them.
  void set_profile(Profile* profile);

  enum class Outcome { finished, stopped };
  /// Trains to train.max_steps, or until `stop` returns true: then it finishes the current step and saves. A run that has no checkpoint yet
  /// begins by saving one. Throws Diverged when a loss or gradient is not finite (before it is applied, with its batch written to
  /// RUN_DIR/bad-step-N.json), and Error when a checkpoint cannot be saved, unless the configuration says to continue.
  Outcome run(TrainingEvents& events, const std::function<bool()>& stop);
  /// Removes the folder of start(), before anything was trained, as far as possible. Nothing else may be called after it.
  void discard();

 private:
  /// `prepare` runs at the end of construction: a Trainer cannot be moved out of the function that makes it.
  Trainer(Config config, TrainingData data, TrainingState state, std::shared_ptr<Ranks> ranks,
          const std::function<void(Trainer&)>& prepare);

  // Before the first step (trainer_start.cpp).
  void reserve();   // maps the memory of the run without touching it; throws InputError if the machine has less
  void allocate();  // reserve(), and touches the memory; weights have no values yet
  Snapshot snapshot() const;
  bool evaluates() const { return evaluator_.evaluates(); }

  // Training (trainer.cpp).
  void begin_metrics(TrainingEvents& events);
  Outcome train(TrainingEvents& events, const std::function<bool()>& stop);
  bool due(index interval) const { return interval > 0 && state_.step % interval == 0; }
  std::function<index()> passes_of_steps() const;
  StepReport step(Prefetcher& batches, TrainingEvents& events);
  void share_losses(StepReport& report, double seconds);     // with all ranks
  std::string objection_to(const StepReport& report) const;  // why the update must not be applied; empty: it may
  void apply(StepReport& report, TrainingEvents& events);
  void skip_or_fail(const StepReport& report, const std::string& objection, TrainingEvents& events);
  std::string last_good() const;
  Prefetcher batches() const;                                                // of the coming steps
  bool evaluate(TrainingEvents& events, const std::function<bool()>& stop);  // false: stopped before the end, so it stays pending
  /// What the first rank wrote to train.sample_prompts; none if it was stopped.
  std::optional<std::vector<PromptSampler::Continuation>> sample(TrainingEvents& events, const std::function<bool()>& stop);
  bool record_evaluation(const EvaluationReport& report);  // in the state; whether it is the best so far
  void require_same_run();                                 // all ranks train the same model on the same texts with the same kernels
  void agree();                                            // all ranks know what the first has saved and evaluated

  // Saving (trainer_saving.cpp).
  enum class IfFailed { as_configured, end };
  void attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write);
  template <class... Line>
  void log(TrainingEvents& events, const Line&... line);  // a line of metrics.jsonl, by the first rank
  void save(TrainingEvents& events, IfFailed if_failed = IfFailed::as_configured);
  void collect(TrainingEvents& events, bool wait);  // the save that runs in the background, if it is done; `wait`: when it is done
  void record_save(const SavedCheckpoint& saved, TrainingEvents& events);

  // In the order of their making: what can fail because of the input comes before the run directory, which is the first to write.
  Config config_;
  std::shared_ptr<Ranks> ranks_;
  TrainingData data_;
  LanguageModel model_;
  Loader loader_;
  UpdateSchedule schedule_;
  Accumulation accumulation_;
  RunEvaluator evaluator_;
  PromptSampler sampler_;
  std::string config_text_;
  TrainingState state_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<DataParallelStep> parallel_step_;
  std::optional<RunDirectory> directory_;
  std::optional<BackgroundSaver> saver_;               // after the directory: the directory's lock must be held until the save has ended
  index saved_step_ = -1;                              // of the newest checkpoint; -1: there is none
  IfFailed if_save_failed_ = IfFailed::as_configured;  // of the save that runs in the background
  std::optional<MetricsLog> metrics_;
  std::vector<std::string> remarks_;
  std::vector<ConfigDifference> changes_;  // of the configuration, by resume()
  Tape tape_;
  MemoryPlan memory_;
  ReferenceRate reference_rate_;
  double trained_seconds_ = 0;  // of the steps of this process
  Profile* profile_ = nullptr;
  double longest_step_ = std::numeric_limits<double>::infinity();  // seconds after which a trial's step makes no other pass
  std::vector<double> losses_;                                     // of the micro-batches of the current step
  std::vector<double> rank_reports_;  // of each rank in turn: its losses of the step, and how long and in what memory it computed them
};

}  // namespace dikkat
