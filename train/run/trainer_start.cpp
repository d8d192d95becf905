#include <algorithm>
#include <cmath>

#include "autograd/base/pages.h"
#include "train/checkpoint/save.h"
#include "train/config/chat_form.h"
#include "train/config/parse.h"
#include "train/config/schema.h"
#include "train/data/corpus_files.h"
#include "train/model/adapters.h"
#include "train/model/pack_weights.h"
#include "train/model/trained_model.h"
#include "train/run/absolute_paths.h"
#include "train/run/build_info.h"
#include "train/run/make_optimizer.h"
#include "train/run/origin.h"
#include "train/run/precision.h"
#include "train/run/trainer.h"
#include "train/run/training_snapshot.h"
#include "train/system/folder.h"
#include "train/system/free_space.h"
#include "train/system/machine_memory.h"
#include "train/system/out_of_memory.h"

namespace dikkat {
namespace {

/// For the next checkpoint, before the run begins.
void require_space(const std::filesystem::path& run_directory, const Snapshot& snapshot) {
  const std::string lack = lack_of_space(run_directory, expected_bytes(snapshot));
  require_input(lack.empty(), "there is no room for the next checkpoint: ", lack,
                "; free some space, choose another --out, or keep fewer checkpoints with train.keep_last");
}

/// A remark on a RUN_DIR/config.toml that somebody has edited: the values that neither the checkpoint nor the resumed run has, such as
/// "model.n_layer = 7, train.seed = 3", or why it cannot be read. Empty if nothing was edited, or the file is missing.
std::string remark_on_edits(const std::filesystem::path& file, const Config& stored, const Config& now) {
  std::string list;
  if (!is_there(file) || !is_file(file)) {
    return "";
  }
  try {
    Config written = load_config(file, stored);
    resolve(written);
    for (const std::string_view section : schema::sections()) {
      const auto of_now = differences(now, written, section);
      for (const ConfigDifference& difference : differences(stored, written, section)) {
        if (std::any_of(of_now.begin(), of_now.end(), [&](const ConfigDifference& other) { return other.path == difference.path; })) {
          append_to(list, concat(list.empty() ? "" : ", ", difference.path, " = ", difference.theirs));
        }
      }
    }
  } catch (const Error& error) {
    return concat(error.what(), "; it has no effect");
  }
  return list.empty() ? "" : concat(file.string(), " says ", list, ", which has no effect");
}

UpdateSchedule schedule_of(const OptimConfig& c) {
  return {.rate = {.kind = c.schedule,
                   .learning_rate = c.learning_rate,
                   .min_lr = c.min_lr,
                   .warmup_steps = c.warmup_steps,
                   .decay_steps = c.decay_steps,
                   .decay_share = c.decay_share,
                   .decay_form = c.decay_form},
          .weight_decay = c.weight_decay_schedule,
          .momentum = {.start = c.muon_momentum_start,
                       .peak = c.muon_momentum,
                       .end = c.muon_momentum_end,
                       .warmup_steps = c.muon_momentum_warmup_steps}};
}

/// A wsd schedule whose end has moved away: the rate that it goes back to, and where it falls now.
std::string remark_on_stable_rate(const Schedule& before, const Schedule& now, index step) {
  const std::string there = step > before.decay_begin() && now(step) != before(step)
                                ? concat("the learning rate goes back from ", before(step), " to ", now(step), " at step ", step)
                                : concat("the learning rate stays at ", now.learning_rate);
  const index begin = std::max(now.decay_begin(), step);
  return concat(there, ", and falls from step ", begin, " on to ", now.min_lr, " at step ", now.decay_steps, " (optim.schedule = \"wsd\")");
}

/// What a run says that ends before its warm-up does; empty for others.
std::string remark_on_warmup(const Config& config) {
  const index warmup = config.optim.warmup_steps;
  const index steps = config.train.max_steps;
  return warmup < steps ? ""
                        : concat("the run ends before its warm-up (optim.warmup_steps = ", warmup, ", train.max_steps = ", steps,
                                 "): the learning rate stays below optim.learning_rate");
}

/// The keys that a resumed run changes. Adds remarks on them, and on consequences that may surprise.
std::vector<ConfigDifference> add_changes(const Config& stored, const Config& now, index step, std::vector<std::string>& remarks) {
  std::vector<ConfigDifference> changes;
  for (const std::string_view section : schema::sections()) {
    for (ConfigDifference& key : differences(stored, now, section)) {
      remarks.push_back(concat("changed: ", key.path, " is ", key.theirs, ", and was ", key.ours));
      changes.push_back(std::move(key));
    }
  }
  if (changes.empty()) {
    return changes;
  }
  if (const std::string remark = remark_on_warmup(now); !remark.empty()) {
    remarks.push_back(remark);
    return changes;
  }
  const OptimConfig& optim = now.optim;
  if (optim.schedule == Schedule::Kind::wsd && step > 0 && *optim.decay_steps > *stored.optim.decay_steps) {
    remarks.push_back(remark_on_stable_rate(schedule_of(stored.optim).rate, schedule_of(optim).rate, step));
  }
  if (const index decay_steps = optim.decay_steps;
      ends_at_min_lr(optim.schedule) && now.train.max_steps > std::max(stored.train.max_steps, decay_steps)) {
    remarks.push_back(concat("steps after ", std::max(decay_steps, optim.warmup_steps),
                             " train at the lowest learning rate, optim.min_lr = ", double{optim.min_lr},
                             ": the schedule ends there (optim.decay_steps)"));
  }
  return changes;
}

/// Takes over the template of the model that the run starts from, unless the configuration names one. A run on conversations is written in
/// it, so it throws InputError for a template that we do not know. A run on texts only keeps it.
void adopt_template(Config& config, const ModelOrigin& origin) {
  const ChatConfig& theirs = origin.config().chat;
  ChatConfig& ours = config.chat;
  if (ours.template_name != TemplateName::auto_ || !ours.jinja.empty()) {
    return;
  }
  ours.template_name = theirs.template_name;
  ours.jinja = theirs.jinja;
  if (!reads_conversations(config)) {
    ours.system = ours.system.empty() ? theirs.system : ours.system;
    return;
  }
  if (theirs.template_name == TemplateName::auto_ && theirs.jinja.empty()) {
    ours.system = ours.system.empty() ? theirs.system : ours.system;
    return;
  }
  const ChatTemplate form = chat_form(theirs, *tokenizer_from_json(origin.tokenizer()), origin.path().string(),
                                      ", chat.template = \"chatml\", \"llama3\" or \"plain\"");
  ours.template_name = form.name;
  if (!ours.system.empty() && ours.system != form.system) {
    ours.jinja.clear();  // its text would write another system message than the run learns
  } else {
    ours.system = form.system;
  }
}

/// Makes the configuration's paths absolute and loads the corpus. With train.init_from, opens that model as `origin`, and the
/// configuration adopts its model and tokenizer.
TrainingData data_of_new_run(Config& config, std::optional<ModelOrigin>& origin, const LoadingProgress& progress,
                             const RunLength& length = {}) {
  const std::string precision = settle_precision(config.train);
  make_absolute(config);
  TrainingData data = [&] {
    if (config.train.init_from.empty()) {
      TrainingData loaded = load_training_data(config, nullptr, progress);
      require_input(config.lora.rank == 0, "lora.rank is ", config.lora.rank,
                    ", but there is no model to adapt: name one with --init-from (train.init_from)");
      return loaded;
    }
    origin.emplace(ModelOrigin::open(config.train.init_from));
    require_input(config.lora.rank == 0 || origin->config().lora.rank == 0, config.train.init_from,
                  " holds adapters itself; make a model of it first: dikkat merge ", config.train.init_from, " --out MERGED");
    adopt_model(config, *origin);
    adopt_template(config, *origin);
    const KnownCorpus known{.tokenizer = origin->tokenizer()};
    return load_training_data(config, &known, progress);
  }();
  config.tokenizer.kind = data.tokenizer->kind();  // of tokenizer.path, if that is given
  if (const ChatTemplate* form = data.chat()) {
    config.chat.template_name = form->name;
  }
  if (origin) {
    data.notes.insert(data.notes.end(), origin->notes().begin(), origin->notes().end());
  }
  for (std::string remark : {set_length(config, data, length), remark_on_warmup(config)}) {
    if (!remark.empty()) {
      data.notes.push_back(std::move(remark));
    }
  }
  if (!precision.empty()) {
    data.notes.push_back(concat("train.precision = \"auto\" is ", name_of(config.train.precision), " here: ", precision));
  }
  return data;
}

TrainingState first_state(const Config& config) {
  TrainingState state;
  state.seed = static_cast<std::uint64_t>(config.train.seed);
  return state;
}

}  // namespace

Trainer::Trainer(Config config, TrainingData data, TrainingState state, std::shared_ptr<Ranks> ranks,
                 const std::function<void(Trainer&)>& prepare)
    : config_(std::move(config)),
      ranks_(std::move(ranks)),
      data_(std::move(data)),
      model_(config_.model, data_.tokenizer->vocab_size(), config_.lora),
      loader_(data_.training(), state.seed),
      schedule_(schedule_of(config_.optim)),
      accumulation_(config_.train),
      evaluator_(model_, data_, config_.train, ranks_),
      sampler_(config_.train, model_, *data_.tokenizer),
      state_(std::move(state)) {
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
  prepare(*this);
}

Trainer Trainer::start(Config config, const NewRunPath& out, const LoadingProgress& progress, std::shared_ptr<Ranks> ranks,
                       const RunLength& length) {
  std::optional<ModelOrigin> origin;
  TrainingData data = data_of_new_run(config, origin, progress, length);
  TrainingState state = first_state(config);
  return Trainer(std::move(config), std::move(data), std::move(state), std::move(ranks), [&](Trainer& run) {
    run.allocate();
    ParameterStore& parameters = run.model_.parameters();
    const bool adapts = run.config_.lora.rank > 0;
    if (adapts) {
      parameters.initialise_trained(run.state_.seed);
    }
    if (origin) {
      HashOfBase hash;
      origin->load_weights(parameters, [&](ParameterStore::Entry& entry) {
        if (adapts) {
          hash.add(entry);
        }
        pack_frozen(parameters, entry);
      });
      run.state_.base_hash = adapts ? hash.finish() : "";
      run.state_.overrides += concat("step 0: weights from ", origin->path().string(), ", step ", origin->state().step, "\n");
      run.state_.evaluation_pending = run.evaluates();  // its metrics begin with the loss of the weights that it starts from
    } else {
      parameters.initialise(run.state_.seed);
    }
    run.optimizer_->start_average();
    if (!run.ranks_->is_first()) {
      return;
    }
    require_space(out.path, run.snapshot());
    run.directory_.emplace(RunDirectory::create(out));
    replace_file(run.directory() / "config.toml", to_recipe(run.config_));
    run.metrics_.emplace(run.directory() / "metrics.jsonl", 0);
  });
}

Trainer Trainer::plan(Config config, const LoadingProgress& progress) {
  std::optional<ModelOrigin> origin;
  TrainingData data = data_of_new_run(config, origin, progress);
  TrainingState state = first_state(config);
  return Trainer(std::move(config), std::move(data), std::move(state), std::make_shared<Ranks>(), [](Trainer& run) { run.reserve(); });
}

Trainer Trainer::resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress,
                        std::shared_ptr<Ranks> ranks) {
  const bool is_first = ranks->is_first();
  std::optional<RunDirectory> directory;
  std::vector<std::string> remarks;
  std::optional<CheckpointFile> chosen;
  ranks->run_on_all([&] {
    if (is_first) {
      directory = RunDirectory::open(run_directory);
      chosen = open_checkpoint(directory->path(), options.choice, &remarks);
    }
  });
  const std::string path = ranks->from_first(chosen ? chosen->path().string() : "");
  if (!is_first) {
    chosen = CheckpointFile::open(path);
  }
  const CheckpointFile& checkpoint = *chosen;
  require_input(is_of_a_run(checkpoint.state()), run_directory.string(),
                " is a model without a run's history, as dikkat merge and import make it, so there is nothing to resume; to train it on: "
                "dikkat finetune ",
                run_directory.string(), " --data PATH, or dikkat train --init-from ", run_directory.string());
  const Config stored = config_of(checkpoint, &remarks);
  Config config = stored;
  TrainingState state = checkpoint.state();
  for (const std::string& assignment : options.overrides) {
    apply_override(config, assignment, RunStage::goes_on);
    state.overrides += concat("step ", state.step, ": ", assignment, "\n");
  }
  resolve(config);
  settle_precision(config.train);
  if (!options.base.empty()) {
    require_input(config.lora.rank > 0, run_directory.string(), " has no adapters, expected a run of adapters with --base");
    require_base_at(options.base, run_directory.string());
    config.train.init_from = options.base;
    make_absolute(config);
    state.overrides += concat("step ", state.step, ": train.init_from=", config.train.init_from, "\n");
  }
  if (!state.instruction_set.empty() && state.instruction_set != build_info().instruction_set) {
    remarks.push_back(concat("kernels are those for ", build_info().instruction_set, " from here on, and were for ", state.instruction_set,
                             ": the run goes on, with other bits than there"));
  }
  const std::filesystem::path config_file = (directory ? directory->path() : run_directory) / "config.toml";
  const std::string edits = remark_on_edits(config_file, stored, config);
  std::vector<ConfigDifference> changes = add_changes(stored, config, state.step, remarks);
  make_absolute(config);
  require_input(config.train.max_steps >= state.step, "train.max_steps is ", config.train.max_steps, ", but the run is at step ",
                state.step, " already; to train on, set it to more");

  const KnownCorpus known{.tokenizer = checkpoint.tokenizer(), .fingerprint = state.corpus_fingerprint};
  TrainingData data = load_training_data(config, &known, progress);
  return Trainer(std::move(config), std::move(data), state, ranks, [&](Trainer& run) {
    run.allocate();
    load_model(
        checkpoint, run.config_, run.model_.parameters(),
        [&](ParameterStore::Entry& entry) { pack_frozen(run.model_.parameters(), entry); }, Weights::trained);
    load_optimizer(checkpoint, *run.optimizer_);
    run.parallel_step_->release_foreign_state();
    run.saved_step_ = state.step;
    if (!is_first) {
      return;
    }
    const bool has_steps_left = state.step < run.config_.train.max_steps;
    if (has_steps_left) {
      require_space(directory->path(), run.snapshot());
    }
    run.directory_ = std::move(directory);
    run.metrics_.emplace(run.directory() / "metrics.jsonl", state.step);
    if (const auto done = run.metrics_->evaluation_of_last_step(); done && state.evaluation_pending) {
      run.record_evaluation(*done);  // the run was stopped after it, and before the next save
    }
    const bool goes_on = has_steps_left && !run.out_of_patience();
    if (!edits.empty()) {
      remarks.push_back(concat(edits, ": a resumed run takes its configuration from the checkpoint; change it with --set",
                               goes_on ? concat(" (kept as ", set_aside(config_file).filename().string(), ')') : ""));
    }
    if (goes_on) {  // a finished run keeps the configuration that its last checkpoint has
      replace_file(config_file, to_recipe(run.config_));
    }
    if (!run.metrics_->remark().empty()) {
      remarks.push_back(run.metrics_->remark());
    }
    if (options.choice == CheckpointChoice::latest_good) {  // when nothing else can fail, so that the user hears of it
      for (const auto& renamed : run.directory_->set_aside_after(state.step)) {
        remarks.push_back(concat("renamed to ", renamed.string()));
      }
    }
    run.remarks_ = std::move(remarks);
    run.changes_ = std::move(changes);
  });
}

void Trainer::reserve() {
  optimizer_ = make_optimizer(config_.optim, model_.parameters());
  require_fits(plan_parameters(model_.parameters(), *optimizer_, config_.train), machine_memory());
  model_.parameters().reserve();
  optimizer_->reserve();
  parallel_step_.emplace(model_.parameters(), *optimizer_, *ranks_, config_.train.lanes, tape_);
  parallel_step_->reserve();
  memory_ = reserve_memory({.config = config_,
                            .data = data_,
                            .model = model_,
                            .optimizer = *optimizer_,
                            .tape = tape_,
                            .evaluator = evaluator_,
                            .longest = loader_.longest()});
  memory_.sampling = evaluates() ? sampler_.bytes() : 0;
  require_fits(memory_, machine_memory());
}

void Trainer::allocate() {
  naming_memory("making the model", [&] {
    reserve();
    ParameterStore& parameters = model_.parameters();
    const index touched = config_.lora.base == PackedType::none ? parameters.slab_size() : parameters.trainable_size();
    touch_in_shares(reinterpret_cast<std::byte*>(parameters.weights<float>()), static_cast<std::size_t>(touched) * sizeof(float));
    for (const StateSlab* slab : optimizer_->state()) {
      if (ranks_->size() > 1) {
        break;  // a rank has its own part alone
      }
      touch_in_shares(slab->memory.data(), slab->bytes());
    }
  });
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
