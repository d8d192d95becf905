#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "train/checkpoint/run_directory.h"
#include "train/config/render.h"
#include "train/data/training_data.h"
#include "train/model/language_model.h"
#include "train/model/model_origin.h"
#include "train/parallel/data_parallel_step.h"
#include "train/parallel/ranks.h"
#include "train/run/bad_step.h"
#include "train/run/course.h"
#include "train/run/memory_plan.h"
#include "train/run/objectives/make_objective.h"
#include "train/run/pass_reports.h"
#include "train/run/prompt_sampler.h"
#include "train/run/run_evaluator.h"
#include "train/run/run_length.h"
#include "train/run/run_record.h"
#include "train/run/step_clock.h"
#include "train/run/training_events.h"
#include "train/run/weight_view.h"

namespace dikkat {

struct Trial;

/// A training run: one object from the first step to the last. start(), plan() and resume() make it. They read and check everything that
/// the run needs before they write anything. It cannot be moved, because its parts refer to each other. Several ranks train one run: each
/// has a Trainer and calls the same functions of it. Only the first rank has a run directory.
class Trainer {
 public:
  /// Starts a run in a new folder, `out`. The configuration is resolved. With train.init_from, the run takes over that checkpoint's model,
  /// weights and tokenizer (adopt_model(), origin.h), and run() evaluates before the first step. `length` may set train.max_steps when the
  /// text is known. `learns` makes the run's objective; a resumed run needs the same. If out.continues and the folder has a run of the same
  /// configuration, resumes that run. Throws InputError for a corpus, configuration or folder that cannot be used.
  static Trainer start(Config config, const NewRunPath& out, const LoadingProgress& progress = {},
                       std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>(), const RunLength& length = {},
                       const ObjectiveMaker& learns = make_objective);

  /// Prepares a run without a folder, for memory_plan(), disk_plan() and run_trial(). Its memory is mapped and not touched.
  static Trainer plan(Config config, const LoadingProgress& progress = {}, const ObjectiveMaker& learns = make_objective);

  struct ResumeOptions {
    std::vector<std::string> overrides;  // "section.key=value"
    CheckpointChoice choice = CheckpointChoice::newest;
    std::string base{};  // where the base of adapters is, if it has moved; later checkpoints refer to it
  };
  /// Continues a run from one of its checkpoints. Throws InputError if the checkpoint is damaged or the corpus has changed. Throws it also
  /// for an override of a key that is fixed when a run starts, and for a base if the run has no adapters.
  static Trainer resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress = {},
                        std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>(), const ObjectiveMaker& learns = make_objective);

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() = default;

  const Config& config() const { return config_; }
  const TrainingData& data() const { return data_; }
  const LanguageModel& model() const { return model_; }
  const Objective& objective() const { return *objective_; }
  const TrainingState& state() const { return state_; }
  /// Returns the ranks that train this run; one process is a Ranks too.
  Ranks& ranks() const { return *ranks_; }
  /// Returns the run directory. Runs of plan() and ranks other than the first have none, and must not call this.
  const std::filesystem::path& directory() const { return record_.directory().path(); }
  /// Returns sentences for the user, from resume(). They report changed keys and the consequences, newer checkpoints that are damaged and
  /// their new names (CheckpointChoice::latest_good), and edits of config.toml, which have no effect.
  const std::vector<std::string>& remarks() const { return resumed_.remarks; }
  /// Returns the fingerprint of the tokens that the validation loss covers. Reads the texts at the first call.
  const LossFingerprint& scored() { return evaluator_.scored(); }
  /// Returns the configuration and facts about the texts, which decide which keys have an effect.
  PlannedRun planned() const;
  /// Returns the order of the samples (windows of block_size tokens, or pairs).
  const Loader& loader() const { return course_.loader; }
  /// Returns the plan, known before the first step from a dry run of a step and an evaluation.
  const MemoryPlan& memory_plan() const { return memory_; }
  DiskPlan disk_plan() const;
  /// Returns the number of forward and backward passes of each step.
  const Accumulation& accumulation() const { return course_.accumulation; }
  /// Returns whether all steps and evaluations are done, or the validation loss has not fallen for train.patience evaluations.
  bool finished() const { return (state_.step >= config_.train.max_steps || out_of_patience()) && !state_.evaluation_pending; }
  bool out_of_patience() const;

  /// Measures the rate for StepReport::mfu: calls `measure` (gemm_rate(), machine_rate.h) now, and later as ReferenceRate does.
  void measure_gemm_rate(std::function<double()> measure) { clock_.measure_reference(std::move(measure)); }
  const ReferenceRate& reference_rate() const { return clock_.reference(); }
  /// Records the time of the coming steps in `profile`, which must outlive them.
  void set_profile(Profile* profile);

  enum class Outcome { finished, stopped };
  /// Trains to train.max_steps, or until `stop` returns true: then it finishes the current step and saves. A run without a checkpoint
  /// begins by saving one. Throws Diverged for a bad step (objection_to()): its update is not applied, and RUN_DIR/bad-step-N.json has its
  /// batch. Throws Error when a checkpoint cannot be saved. The configuration may ask to continue instead.
  Outcome run(TrainingEvents& events, const std::function<bool()>& stop);
  /// Removes the folder of start(), before any training, as far as possible. Nothing else may be called after it.
  void discard() { record_.discard(); }

 private:
  using IfFailed = RunRecord::IfFailed;
  friend Trial run_trial(Trainer& trainer, index steps);

  /// The findings of resume() about the run.
  struct Resumed {
    std::vector<std::string> remarks;
    std::vector<ConfigDifference> changes;  // changes of the configuration
  };

  /// `prepare` runs at the end of construction: a Trainer cannot be moved out of the function that makes it.
  Trainer(ResolvedConfig config, TrainingData data, TrainingState state, std::shared_ptr<Ranks> ranks, const ObjectiveMaker& learns,
          const std::function<void(Trainer&)>& prepare);

  // Before the first step (trainer_start.cpp, trainer_resume.cpp).
  void reserve();   // maps the memory of the run without touching it; throws InputError if the machine has less
  void allocate();  // reserve(), and touches the memory; weights have no values yet
  void initialize(const std::optional<ModelOrigin>& origin);
  void load(const CheckpointFile& checkpoint);
  void prepare_directory(const std::string& edits, CheckpointChoice choice);
  Snapshot snapshot() const;
  bool evaluates() const { return evaluator_.evaluates(); }

  // Training (trainer.cpp).
  void require_same_run();  // all ranks train the same model on the same texts with the same kernels
  RunHeader header() const;
  Outcome train_with_advice(TrainingEvents& events, const std::function<bool()>& stop);
  Outcome train_steps(TrainingEvents& events, const std::function<bool()>& stop);
  bool due(index interval) const { return interval > 0 && state_.step % interval == 0; }
  bool prepare_objective(TrainingEvents& events, const std::function<bool()>& stop);
  void save(TrainingEvents& events, IfFailed if_failed);

  // A step.
  StepReport step(Batches& batches, TrainingEvents& events);
  void make_passes(Batches& batches, StepReport& report);
  Tensor loss_of(const Batch& batch, index pass_of_step);
  std::unique_ptr<Batches> batches() const;  // batches of the coming steps
  const Batch& next(Batches& batches) const;
  double gradient_norm();
  void apply(StepReport& report, TrainingEvents& events);
  void skip_or_fail(StepReport& report, const std::string& objection, TrainingEvents& events);
  [[noreturn]] void fail_diverged(const std::string& reason, const std::string& what) const;

  // Evaluation. Both return false, or nothing, if the run was stopped meanwhile: then the evaluation stays pending.
  bool evaluate(TrainingEvents& events, const std::function<bool()>& stop);
  std::optional<std::vector<PromptSampler::Continuation>> sample(TrainingEvents& events, const std::function<bool()>& stop);

  // The members, in the order in which they are made.
  Config config_;
  std::shared_ptr<Ranks> ranks_;
  TrainingData data_;
  TrainingState state_;
  LanguageModel model_;
  Course course_;
  std::unique_ptr<Objective> objective_;
  RunEvaluator evaluator_;
  PromptSampler sampler_;
  std::unique_ptr<Optimizer> optimizer_;
  Tape tape_;
  std::optional<DataParallelStep> parallel_step_;
  std::optional<WeightView> weights_;
  PassReports passes_;  // reports of the current step
  RunRecord record_;
  StepClock clock_;
  Resumed resumed_;
  MemoryPlan memory_;
};

}  // namespace dikkat
