#include <algorithm>

#include "train/data/corpus_files.h"
#include "train/model/adapters.h"
#include "train/model/pack_weights.h"
#include "train/model/trained_model.h"
#include "train/run/build_info.h"
#include "train/run/make_optimizer.h"
#include "train/run/new_run.h"
#include "train/run/run_remarks.h"
#include "train/run/trainer.h"
#include "train/run/training_snapshot.h"
#include "train/system/folder.h"
#include "train/system/machine_memory.h"
#include "train/system/out_of_memory.h"

// How a trainer is made, and a new run begins.
namespace dikkat {
namespace {

TrainingState first_state(const Config& config) {
  TrainingState state;
  state.seed = static_cast<std::uint64_t>(config.train.seed);
  return state;
}

/// Returns whether the folder has a run of this configuration, which the same command has begun. Throws InputError if it has a run of
/// another one. The first rank decides for all. A text from standard input has been read, and cannot be read again for such a run.
bool is_begun(const NewRunPath& out, const Config& config, Ranks& ranks) {
  const std::vector<std::string> texts = config.data.training_paths();
  const bool can_continue = out.continues && std::ranges::find(texts, kStandardInput) == texts.end();
  bool is_begun = false;
  ranks.run_on_all([&] {
    const bool may_have_run = can_continue && ranks.is_first() && is_folder(checkpoint_directory(out.path));
    if (!may_have_run || list_checkpoints(out.path).empty() || is_locked(out.path)) {
      return;  // create() reports who holds the lock
    }
    const CheckpointFile checkpoint = open_checkpoint(out.path);
    if (!is_of_a_run(checkpoint.state())) {
      return;  // a model from merge or import, which create() refuses
    }
    const std::vector<ConfigDifference> differences = changes_between(config_of(checkpoint), config);
    const std::string name = out.path.string();
    require_input(differences.empty(), name, " has a run of another configuration: its ",
                  differences.empty() ? "" : concat(differences[0].path, " is ", differences[0].ours, ", not ", differences[0].theirs),
                  "; choose another --out, or continue that run with `dikkat resume ", name, "`");
    is_begun = true;
  });
  return !ranks.from_first(is_begun ? "begun" : "").empty();
}

}  // namespace

Trainer::Trainer(Config config, TrainingData data, TrainingState state, std::shared_ptr<Ranks> ranks,
                 const std::function<void(Trainer&)>& prepare)
    : config_(std::move(config)),
      ranks_(std::move(ranks)),
      data_(std::move(data)),
      model_(config_.model, data_.tokenizer->vocab_size(), config_.lora),
      loader_(data_.training(), state.seed),
      schedule_(make_schedule(config_.optim)),
      accumulation_(config_.train),
      preference_(model_, config_.preference),
      evaluator_(model_, data_, config_, ranks_),
      sampler_(config_.train, model_, *data_.tokenizer),
      state_(std::move(state)),
      record_(config_, state_, *ranks_, [this] { return snapshot(); }),
      clock_(*ranks_) {
  config_.model.vocab_size.derive(model_.vocab_size());
  config_text_ = to_toml(config_);
  state_.corpus_fingerprint = data_.fingerprint;
  state_.train_tokens = data_.train_tokens();
  state_.val_tokens = data_.validation_tokens();
  const BuildInfo& info = build_info();
  state_.program_version = info.version;
  state_.compiler = info.compiler;
  state_.compiler_flags = info.flags;
  state_.instruction_set = info.instruction_set;
  losses_.reserve(static_cast<std::size_t>(accumulation_.most()));
  sums_.reserve(static_cast<std::size_t>(accumulation_.most()) * (prefers() ? PreferenceSums::kNumbers : 0));
  open_teacher();
  prepare(*this);
}

/// Opens the teacher of distill.file. A resumed run must have the file that it began with.
void Trainer::open_teacher() {
  const bool is_new = state_.step == 0 && state_.teacher_hash.empty();
  require_input(is_new || config_.distill.is_on() == !state_.teacher_hash.empty(), "distill.file is \"", config_.distill.file,
                "\", but the run began ", config_.distill.is_on() ? "without" : "with", " a teacher: it cannot change that");
  if (!config_.distill.is_on()) {
    return;
  }
  naming_memory("opening the teacher file", [&] { distillation_.emplace(config_, data_); });
  require_input(is_new || distillation_->hash() == state_.teacher_hash, "distill.file: ", config_.distill.file, " has the hash ",
                distillation_->hash(), ", but the run began with a teacher file of hash ", state_.teacher_hash,
                "; restore that file, or begin a new run");
  state_.teacher_hash = distillation_->hash();
}

Trainer Trainer::start(Config config, const NewRunPath& out, const LoadingProgress& progress, std::shared_ptr<Ranks> ranks,
                       const RunLength& length) {
  NewRun run = load_new_run(std::move(config), progress, length);
  if (is_begun(out, run.config, *ranks)) {
    return resume(out.path, {}, progress, std::move(ranks));
  }
  TrainingState state = first_state(run.config);
  return Trainer(std::move(run.config), std::move(run.data), std::move(state), std::move(ranks), [&](Trainer& trainer) {
    require_lora_matches(trainer.model_, trainer.config_.lora);
    trainer.allocate();
    trainer.initialise(run.origin);
    trainer.optimizer_->start_average();
    trainer.record_.create(out);
  });
}

Trainer Trainer::plan(Config config, const LoadingProgress& progress) {
  NewRun run = load_new_run(std::move(config), progress, {});
  TrainingState state = first_state(run.config);
  return Trainer(std::move(run.config), std::move(run.data), std::move(state), std::make_shared<Ranks>(), [](Trainer& trainer) {
    require_lora_matches(trainer.model_, trainer.config_.lora);
    trainer.reserve();
  });
}

void Trainer::reserve() {
  optimizer_ = make_optimizer(config_.optim, model_.parameters());
  require_fits(plan_parameters(model_.parameters(), *optimizer_, config_.train), machine_memory());
  model_.parameters().reserve();
  optimizer_->reserve();
  parallel_step_.emplace(model_.parameters(), *optimizer_, *ranks_, config_.train.lanes, tape_);
  parallel_step_->reserve();
  if (config_.train.quantize != Quantize::none) {
    rounded_.emplace(model_.parameters()).reserve();
  }
  memory_ = reserve_memory({.config = config_,
                            .data = data_,
                            .model = model_,
                            .optimizer = *optimizer_,
                            .tape = tape_,
                            .preference = preference_,
                            .distillation = distillation_ ? &*distillation_ : nullptr,
                            .evaluator = evaluator_,
                            .longest = loader_.longest()});
  memory_.sampling = evaluates() ? sampler_.bytes() : 0;
  require_fits(memory_, machine_memory());
}

void Trainer::allocate() {
  naming_memory("making the model", [&] {
    reserve();
    ParameterStore& parameters = model_.parameters();
    const index touched = config_.lora.base == PackedType::f32 ? parameters.slab_size() : parameters.trainable_size();
    touch_in_shares(reinterpret_cast<std::byte*>(parameters.weights<float>()), static_cast<std::size_t>(touched) * sizeof(float));
    parallel_step_->touch_state();
  });
}

/// Gives the weights their first values: random ones, or those of the model that the run starts from.
void Trainer::initialise(const std::optional<ModelOrigin>& origin) {
  ParameterStore& parameters = model_.parameters();
  if (!origin) {
    parameters.initialise(state_.seed);
    return;
  }
  const bool adapts = config_.lora.rank > 0;
  if (adapts) {
    parameters.initialise_trained(state_.seed);
  }
  const bool hashes = adapts || config_.preference.has_reference();
  HashOfBase hash;
  origin->load_weights(parameters, [&](ParameterStore::Entry& entry) {
    if (hashes) {
      hash.add(entry);
    }
    pack_frozen(parameters, entry);
  });
  state_.base_hash = hashes ? hash.finish() : "";
  state_.overrides += concat("step 0: weights from ", origin->path().string(), ", step ", origin->state().step, "\n");
  state_.evaluation_pending = evaluates();  // the metrics begin with the loss of these weights
}

Snapshot Trainer::snapshot() const {
  return training_snapshot(state_, config_text_, data_.tokenizer->to_json(), model_.parameters(), *optimizer_);
}

PlannedRun Trainer::planned() const {
  PlannedRun run{.config = config_, .facts = data_.facts};
  run.facts.processes = ranks_->size() > 1;
  return run;
}

DiskPlan Trainer::disk_plan() const { return plan_disk(config_, snapshot(), evaluates()); }

}  // namespace dikkat
