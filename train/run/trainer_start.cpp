#include <algorithm>

#include "train/data/corpus/corpus_files.h"
#include "train/model/adapters.h"
#include "train/model/extended_model.h"
#include "train/model/make_optimizer.h"
#include "train/model/pack_weights.h"
#include "train/model/trained_model.h"
#include "train/run/build_info.h"
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

TrainingState first_state(const NewRun& run) {
  TrainingState state;
  state.seed = static_cast<std::uint64_t>(run.config->train.seed);
  state.first_new_token = run.origin ? run.origin->state().first_new_token : -1;
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

Trainer::Trainer(ResolvedConfig config, TrainingData data, TrainingState state, std::shared_ptr<Ranks> ranks, const ObjectiveMaker& learns,
                 const std::function<void(Trainer&)>& prepare)
    : config_(std::move(config)),
      ranks_(std::move(ranks)),
      data_(std::move(data)),
      state_(std::move(state)),
      model_(config_.model, data_.tokenizer->vocab_size(), config_.lora),
      course_(config_, data_, state_.seed),
      objective_(learns({.config = config_, .model = model_, .data = data_, .state = state_})),
      evaluator_(objective_->scorer(), data_, config_, ranks_),
      sampler_(config_.train, model_, *data_.tokenizer),
      passes_(*objective_, course_.accumulation.most()),
      record_(config_, state_, *ranks_, [this] { return snapshot(); }),
      clock_(*ranks_) {
  config_.model.vocab_size.derive(model_.vocab_size());
  state_.corpus_fingerprint = data_.fingerprint;
  state_.train_tokens = data_.train_tokens();
  state_.val_tokens = data_.validation_tokens();
  const BuildInfo& info = build_info();
  state_.program_version = info.version;
  state_.compiler = info.compiler;
  state_.compiler_flags = info.flags;
  state_.instruction_set = info.instruction_set;
  prepare(*this);
}

Trainer Trainer::start(Config config, const NewRunPath& out, const LoadingProgress& progress, std::shared_ptr<Ranks> ranks,
                       const RunLength& length, const ObjectiveMaker& learns) {
  NewRun run = load_new_run(std::move(config), progress, length);
  if (is_begun(out, run.config, *ranks)) {
    return resume(out.path, {}, progress, std::move(ranks), learns);
  }
  TrainingState state = first_state(run);
  return Trainer(std::move(run.config), std::move(run.data), std::move(state), std::move(ranks), learns, [&](Trainer& trainer) {
    require_lora_matches(trainer.model_, trainer.config_.lora);
    trainer.allocate();
    trainer.initialize(run.origin);
    trainer.optimizer_->start_average();
    trainer.record_.create(out);
  });
}

Trainer Trainer::plan(Config config, const LoadingProgress& progress, const ObjectiveMaker& learns) {
  NewRun run = load_new_run(std::move(config), progress, {});
  TrainingState state = first_state(run);
  return Trainer(std::move(run.config), std::move(run.data), std::move(state), std::make_shared<Ranks>(), learns, [](Trainer& trainer) {
    require_lora_matches(trainer.model_, trainer.config_.lora);
    trainer.reserve();
  });
}

void Trainer::reserve() {
  NewRows new_rows;
  if (state_.first_new_token >= 0) {
    new_rows = {.tables = token_tables(model_.config()), .first = state_.first_new_token, .last = data_.tokenizer->vocab_size()};
  }
  optimizer_ = make_optimizer(config_.optim, model_.parameters(), new_rows);
  require_fits(plan_parameters(model_.parameters(), *optimizer_, config_.train), machine_memory());
  model_.parameters().reserve();
  optimizer_->reserve();
  parallel_step_.emplace(model_.parameters(), *optimizer_, *ranks_, config_.train.lanes, tape_);
  parallel_step_->reserve();
  weights_.emplace(config_, model_.parameters(), *parallel_step_, clock_).reserve();
  memory_ = reserve_memory({.config = config_,
                            .data = data_,
                            .model = model_,
                            .optimizer = *optimizer_,
                            .tape = tape_,
                            .objective = *objective_,
                            .evaluator = evaluator_,
                            .longest = course_.loader.longest()});
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

/// Sets the first values of the weights: random ones, or those of the model that the run starts from.
void Trainer::initialize(const std::optional<ModelOrigin>& origin) {
  ParameterStore& parameters = model_.parameters();
  if (!origin) {
    parameters.initialize(state_.seed);
    return;
  }
  const bool adapts = config_.lora.rank > 0;
  if (adapts || model_.is_classifier()) {  // the origin may have no head for labels
    parameters.initialize_trained(state_.seed);
  }
  const bool hashes = adapts || objective_->identifies_base();
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
  return training_snapshot(state_, to_toml(config_), data_.tokenizer->to_json(), model_.parameters(), *optimizer_);
}

PlannedRun Trainer::planned() const {
  PlannedRun run{.config = config_, .facts = data_.facts};
  run.facts.processes = ranks_->size() > 1;
  run.facts.new_rows = state_.first_new_token >= 0;
  return run;
}

DiskPlan Trainer::disk_plan() const { return plan_disk(config_, snapshot(), evaluates()); }

}  // namespace dikkat
