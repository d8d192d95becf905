#include "train/loop/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "optim/clip.h"
#include "train/checkpoint/file.h"
#include "train/config/parse.h"
#include "train/data/corpus_files.h"
#include "train/data/prefetcher.h"
#include "train/loop/background_saver.h"
#include "train/loop/build_info.h"
#include "train/loop/model_flops.h"
#include "train/loop/training_snapshot.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Schedule schedule_of(const OptimConfig& c) {
  return {.kind = c.schedule == "constant"       ? Schedule::Kind::constant
                  : c.schedule == "linear"       ? Schedule::Kind::linear
                  : c.schedule == "inverse_sqrt" ? Schedule::Kind::inverse_sqrt
                                                 : Schedule::Kind::cosine,
          .learning_rate = c.learning_rate,
          .min_lr = c.min_lr.value(),
          .warmup_steps = c.warmup_steps,
          .decay_steps = c.decay_steps.value()};
}

void record_build(TrainingState& state) {
  const BuildInfo& info = build_info();
  state.program_version = info.version;
  state.compiler = info.compiler;
  state.compiler_flags = info.flags;
  state.instruction_set = info.instruction_set;
}

/// A run may go on from another folder.
void make_absolute(Config& config) {
  const auto make = [](std::string& path) {
    if (!path.empty() && path != kStandardInput) {
      path = std::filesystem::absolute(path).lexically_normal().string();
    }
  };
  std::for_each(config.data.corpus.begin(), config.data.corpus.end(), make);
  std::for_each(config.data.validation.begin(), config.data.validation.end(), make);
  make(config.tokenizer.path);
  if (config.data.cache != "auto" && config.data.cache != "off") {
    make(config.data.cache);
  }
}

/// Weights mean something in the model that they are of, and for its tokens, alone. Fills in a vocabulary size that is left open.
void require_same_model(Config& config, const CheckpointFile& origin) {
  const std::string name = origin.path().string();
  Config theirs = parse_config(origin.config(), name + ": configuration");
  resolve(theirs);
  if (config.model.vocab_size == 0) {
    config.model.vocab_size = theirs.model.vocab_size;
  }
  std::string different;
  for (const ConfigDifference& key : differences(config, theirs, "model")) {
    const bool is_of_encoder = key.path == "model.n_encoder_layer" || key.path == "model.share_embeddings";
    if (key.path != "model.dropout" && !(is_of_encoder && config.model.kind == "gpt")) {
      different += concat(different.empty() ? "" : ", ", key.path, " is ", key.ours, " and there ", key.theirs);
    }
  }
  require_input(different.empty(), "the weights in ", name, " are of another model: ", different, "; set the same in the configuration");
  const auto tokenizer = tokenizer_from_json(origin.tokenizer());
  const bool same_kind = config.tokenizer.kind == tokenizer->kind();
  require_input(
      same_kind && (config.tokenizer.path.empty() || read_tokenizer_file(config.tokenizer.path)->to_json() == tokenizer->to_json()),
      "the weights in ", name, " are for the tokens of another tokenizer, of the kind \"", tokenizer->kind(), "\" with ",
      tokenizer->vocab_size(), " tokens; ",
      same_kind ? concat(config.tokenizer.path, " holds other ones: leave tokenizer.path out")
                : concat("set tokenizer.kind to \"", tokenizer->kind(), "\""));
}

/// Without the sign that a NaN may have.
std::string shown(double value) { return std::isnan(value) ? "NaN" : concat(value); }

}  // namespace

/// Members are made in this order: what can fail because of the input comes before the run directory, which is the first to write.
struct Trainer::Parts {
  Parts(Config c, TrainingData d, std::uint64_t seed)
      : config(std::move(c)),
        data(std::move(d)),
        model(config.model, data.tokenizer->vocab_size()),
        loader(*data.training, seed),
        schedule(schedule_of(config.optim)),
        evaluator(model) {
    config.model.vocab_size = model.vocab_size();
    if (data.tokenizer->kind() == BpeTokenizer::kKind) {
      config.tokenizer.vocab_size = data.tokenizer->vocab_size();  // what became of it: a text may have too few pairs
    }
    config_text = to_toml(config);
    state.seed = seed;
    state.corpus_fingerprint = data.fingerprint;
    state.train_tokens = data.train.tokens;
    state.val_tokens = data.validation.tokens;
    record_build(state);
  }

  void allocate() {
    model.parameters().allocate(state.seed);
    optimizer.emplace(
        model.parameters(),
        AdamW::Options{
            .beta1 = config.optim.beta1, .beta2 = config.optim.beta2, .eps = config.optim.eps, .weight_decay = config.optim.weight_decay});
  }

  bool evaluates() const { return config.train.eval_interval > 0 && data.validation.samples != nullptr; }
  bool due(index interval) const { return interval > 0 && state.step % interval == 0; }

  StepReport step(Prefetcher& batches, TrainingEvents& events);
  void save(TrainingEvents& events);
  Outcome run(TrainingEvents& events, const std::function<bool()>& stop);
  void collect(TrainingEvents& events, bool wait);
  void take(const SavedCheckpoint& saved, TrainingEvents& events);
  bool evaluate(TrainingEvents& events, const std::function<bool()>& stop);
  bool take(const EvaluationReport& report);
  [[noreturn]] void refuse_not_finite(const StepReport& report);

  Config config;
  TrainingData data;
  LanguageModel model;
  Loader loader;
  Schedule schedule;
  Evaluator evaluator;
  std::string config_text;
  TrainingState state;
  std::optional<AdamW> optimizer;
  std::optional<RunDirectory> directory;
  std::optional<BackgroundSaver> saver;  // after the directory, whose lock it outlives not
  std::optional<MetricsLog> metrics;
  Tape tape;
  double gemm_rate = std::numeric_limits<double>::quiet_NaN();
  std::function<double()> measure_gemm_rate;
  Profile* profile = nullptr;
};

Trainer::Trainer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Trainer Trainer::start(Config config, const std::filesystem::path& out, const StartOptions& options) {
  make_absolute(config);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  std::optional<CheckpointFile> origin;
  std::optional<KnownCorpus> known;
  if (!options.init_from.empty()) {
    origin.emplace(open_checkpoint(options.init_from, Pick::newest));
    require_same_model(config, *origin);
    known.emplace(KnownCorpus{.tokenizer = origin->tokenizer()});
  }
  auto data = load_training_data(config, known ? &*known : nullptr, options.progress);
  auto parts = std::make_unique<Parts>(std::move(config), std::move(data), seed);
  parts->allocate();
  if (origin) {
    load_weights(*origin, parts->model.parameters());
    parts->state.overrides += concat("step 0: weights from ", origin->path().string(), ", step ", origin->state().step, "\n");
  }
  parts->directory.emplace(RunDirectory::create(out));
  replace_file(parts->directory->path() / "config.toml", parts->config_text);
  parts->metrics.emplace(parts->directory->path() / "metrics.jsonl", 0);
  return Trainer(std::move(parts));
}

Trainer Trainer::resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress) {
  RunDirectory directory = RunDirectory::open(run_directory);
  const CheckpointFile checkpoint = open_checkpoint(directory.path(), options.pick);
  const std::string source = checkpoint.path().string() + ": configuration";
  Config config = parse_config(checkpoint.config(), source);
  for (const std::string& assignment : options.overrides) {
    apply_override(config, assignment, RunStage::goes_on);
  }
  resolve(config);
  validate(config);
  make_absolute(config);
  const TrainingState& saved = checkpoint.state();
  require_input(config.train.max_steps >= saved.step, "train.max_steps is ", config.train.max_steps, ", but the run is at step ",
                saved.step, " already; to train on, set it to more");

  const KnownCorpus known{.tokenizer = checkpoint.tokenizer(), .fingerprint = saved.corpus_fingerprint};
  auto data = load_training_data(config, &known, progress);
  auto parts = std::make_unique<Parts>(std::move(config), std::move(data), saved.seed);
  parts->state = saved;
  record_build(parts->state);
  for (const std::string& assignment : options.overrides) {
    parts->state.overrides += concat("step ", saved.step, ": ", assignment, "\n");
  }
  parts->allocate();
  load_weights(checkpoint, parts->model.parameters());
  load_moments(checkpoint, parts->model.parameters(), *parts->optimizer);

  parts->directory.emplace(std::move(directory));
  if (options.pick == Pick::latest_good) {
    parts->directory->set_aside_after(saved.step);
  }
  if (saved.step < parts->config.train.max_steps) {  // a finished run keeps the configuration that its last checkpoint has
    replace_file(parts->directory->path() / "config.toml", parts->config_text);
  }
  parts->metrics.emplace(parts->directory->path() / "metrics.jsonl", saved.step);
  if (const auto done = parts->metrics->evaluation_of_last_step(); done && saved.evaluation_pending) {
    parts->take(*done);  // the run was stopped after it, and before the next save
  }
  return Trainer(std::move(parts));
}

const Config& Trainer::config() const { return parts_->config; }
const TrainingData& Trainer::data() const { return parts_->data; }
const LanguageModel& Trainer::model() const { return parts_->model; }
const TrainingState& Trainer::state() const { return parts_->state; }
const std::filesystem::path& Trainer::directory() const { return parts_->directory->path(); }
index Trainer::epoch_size() const { return parts_->loader.epoch_size(); }
std::size_t Trainer::parameter_bytes() const {
  return static_cast<std::size_t>(parts_->model.parameters().slab_size()) * 4 * sizeof(float);
}
double Trainer::measure_gemm_rate(std::function<double()> measure) {
  parts_->gemm_rate = measure();
  parts_->measure_gemm_rate = std::move(measure);
  return parts_->gemm_rate;
}
void Trainer::set_profile(Profile* profile) {
  parts_->profile = profile;
  parts_->tape.observe(profile);
}
bool Trainer::finished() const { return parts_->state.step >= parts_->config.train.max_steps && !parts_->state.evaluation_pending; }

/// One update of the weights, from gradient_accumulation_steps batches that count as one.
StepReport Trainer::Parts::step(Prefetcher& batches, TrainingEvents& events) {
  const auto start = std::chrono::steady_clock::now();
  if (profile != nullptr) {
    profile->step_begins();
  }
  const index micro_batches = config.train.gradient_accumulation_steps;
  const index rows = config.train.batch_size;

  StepReport report{.step = state.step + 1, .learning_rate = schedule(state.step)};
  double flops = 0;
  const auto next_batch = [&]() -> const Batch& {
    const Profile::Piece piece(profile, "waiting for batches");
    return batches.next();
  };
  for (index micro = 0; micro < micro_batches; ++micro) {
    const Batch& batch = next_batch();
    flops += training_flops(model, batch);
    Pass pass{.tape = tape,
              .training = true,
              .seed = state.seed,
              .step = static_cast<std::uint64_t>(state.step),
              .first_sequence = micro * rows,
              .recompute = recompute_of(config.train)};
    const Tensor loss = model.loss(pass, batch, batch.step_weight, config.train.label_smoothing);
    report.tokens = static_cast<index>(batch.step_weight);
    report.loss += static_cast<double>(*loss.data<float>());
    tape.backward(loss);
    tape.reset();
    if (batch.lengths == loader.longest()) {
      tape.freeze();  // no batch of the run is larger
    }
  }
  const double slab_bytes = static_cast<double>(model.parameters().slab_size()) * sizeof(float);
  {
    const Profile::Piece piece(profile, "norm of the gradient", slab_bytes);
    report.gradient_norm = gradient_norm(model.parameters());
  }
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    collect(events, true);  // the last good one may be in the making
    refuse_not_finite(report);
  }
  {
    const Profile::Piece piece(profile, "AdamW", 7 * slab_bytes);  // weights and moments read and written, gradients read
    optimizer->step(report.step, report.learning_rate, clip_factor(report.gradient_norm, config.optim.grad_clip));
  }

  ++state.step;
  state.samples_seen += rows * micro_batches;
  state.tokens_seen += report.tokens;
  state.epoch = state.samples_seen / loader.epoch_size();
  report.seconds = seconds_since(start);
  const double rate = flops / report.seconds;
  if (rate > gemm_rate) {
    gemm_rate = std::max(rate, measure_gemm_rate());
  }
  report.gemm_share = rate / gemm_rate;
  if (profile != nullptr) {
    profile->step_ends(report.seconds);
  }
  return report;
}

void Trainer::Parts::refuse_not_finite(const StepReport& report) {
  std::string where = "no gradient is";
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    const float* gradient = model.parameters().gradients<float>() + entry->offset;
    if (std::any_of(gradient, gradient + entry->size(), [](float g) { return !std::isfinite(g); })) {
      where = concat("the first gradient that is not finite is that of ", entry->path);
      break;
    }
  }
  const auto newest = directory->newest();
  fail("step ", report.step, ": the loss is ", shown(report.loss), " and the gradient's norm ", shown(report.gradient_norm), " (", where,
       "); the update was not applied. The last good checkpoint is ", newest ? newest->path.string() : "none",
       "; try a lower optim.learning_rate, a longer optim.warmup_steps or optim.grad_clip = 1");
}

void Trainer::Parts::save(TrainingEvents& events) {
  const Snapshot snapshot = training_snapshot(state, config_text, data.tokenizer->to_json(), model.parameters(), *optimizer);
  if (!config.train.async_save) {
    take(save_checkpoint(directory->checkpoints_path(), snapshot), events);
    return;
  }
  collect(events, true);  // one after another
  saver->start(snapshot);
}

/// Takes what has been saved while training went on; `wait`: when it is done.
void Trainer::Parts::collect(TrainingEvents& events, bool wait) {
  if (const auto saved = saver ? saver->collect(wait) : std::nullopt) {
    take(*saved, events);
  }
}

void Trainer::Parts::take(const SavedCheckpoint& saved, TrainingEvents& events) {
  directory->retain(saved, config.train.keep_last, state.best_step);
  events.saved(saved);
}

/// False when stopped before it was done: it stays pending.
bool Trainer::Parts::evaluate(TrainingEvents& events, const std::function<bool()>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const index chosen = config.train.eval_batches * config.train.batch_size;
  const index count = chosen == 0 ? data.validation.samples->count() : chosen;
  const SampleChoice choice{.count = count, .seed = state.seed, .draw = static_cast<std::uint64_t>(state.step)};
  const auto val = evaluator(*data.validation.samples, choice, stop, [&](double done) { events.evaluating(done / 2); });
  const auto train =
      val ? evaluator(*data.train.samples, choice, stop, [&](double done) { events.evaluating(0.5 + done / 2); }) : std::nullopt;
  if (!train) {
    return false;
  }
  collect(events, true);  // the best checkpoint is one that is there
  EvaluationReport report{.step = state.step,
                          .train_loss = train->loss,
                          .val_loss = val->loss,
                          .val_standard_error = val->standard_error,
                          .seconds = seconds_since(start)};
  report.best = take(report);
  metrics->write(report);
  events.evaluated(report);
  return true;
}

/// What an evaluation changes; whether it is the best so far.
bool Trainer::Parts::take(const EvaluationReport& report) {
  state.evaluation_pending = false;
  if (!(report.val_loss < state.best_val_loss)) {
    return false;
  }
  state.best_val_loss = report.val_loss;
  state.best_step = report.step;
  directory->record_best(report.step);
  return true;
}

Trainer::Outcome Trainer::run(TrainingEvents& events, const std::function<bool()>& stop) {
  Parts& p = *parts_;
  if (p.config.train.async_save) {
    p.saver.emplace(p.directory->checkpoints_path());
  }
  const Outcome outcome = p.run(events, stop);
  p.collect(events, true);
  p.saver.reset();
  return outcome;
}

Trainer::Outcome Trainer::Parts::run(TrainingEvents& events, const std::function<bool()>& stop) {
  if (state.evaluation_pending && !evaluate(events, stop)) {
    return Outcome::stopped;
  }
  Prefetcher batches(loader, state.samples_seen, config.train.batch_size, config.train.gradient_accumulation_steps);
  while (state.step < config.train.max_steps) {
    const StepReport report = step(batches, events);
    metrics->write(report);
    events.stepped(report);
    collect(events, false);

    const bool last = state.step == config.train.max_steps;
    const bool stopping = stop();
    state.evaluation_pending = evaluates() && (last || due(config.train.eval_interval));
    if (last || stopping || state.evaluation_pending || due(config.train.checkpoint_interval)) {
      save(events);  // before the evaluation: a finished step is never lost to one that fails
    }
    if (stopping) {
      return Outcome::stopped;
    }
    if (state.evaluation_pending && !evaluate(events, stop)) {
      return Outcome::stopped;
    }
  }
  return Outcome::finished;
}

}  // namespace dikkat
