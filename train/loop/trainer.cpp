#include "train/loop/trainer.h"

#include <algorithm>

#include "train/checkpoint/save.h"
#include "train/config/parse.h"
#include "train/data/corpus_files.h"
#include "train/io/file.h"
#include "train/io/free_space.h"
#include "train/loop/origin.h"
#include "train/loop/training_run.h"
#include "train/loop/training_snapshot.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

/// `is_pattern`: where no such file is there, * ? and [ in it mean others, and in the folder's name nothing.
std::string absolute(const std::string& path, bool is_pattern) {
  namespace fs = std::filesystem;
  if (fs::path(path).is_absolute()) {
    return path;
  }
  std::string folder = fs::current_path().string();
  if (std::error_code missing; is_pattern && path.find_first_of("*?[") != std::string::npos && !fs::exists(path, missing)) {
    for (std::size_t at = 0; (at = folder.find_first_of("*?[\\", at)) != std::string::npos; at += 2) {
      folder.insert(at, 1, '\\');
    }
  }
  const fs::path whole = fs::path(folder) / path;
  const bool goes_up = std::find(whole.begin(), whole.end(), "..") != whole.end();  // which after a link is not the folder above it
  return goes_up ? whole.string() : whole.lexically_normal().string();
}

/// A run may go on from another folder. Throws InputError where that makes a configuration that cannot be written down.
void make_absolute(Config& config) {
  for (std::vector<std::string>* texts : {&config.data.corpus, &config.data.validation}) {
    for (std::string& path : *texts) {
      if (!path.empty() && path != kStandardInput) {
        path = absolute(path, true);
      }
    }
  }
  for (std::string* path : {&config.tokenizer.path, &config.data.cache}) {
    if (!path->empty() && *path != "auto" && *path != "off") {
      *path = absolute(*path, false);
    }
  }
  validate(config);
}

/// For a checkpoint more, before the run begins.
void require_space(const std::filesystem::path& run_directory, const Snapshot& snapshot) {
  const std::string lack = lack_of_space(run_directory, expected_bytes(snapshot));
  require_input(lack.empty(), "there is no room for the next checkpoint: ", lack,
                "; free some space, choose another --out, or keep fewer checkpoints with train.keep_last");
}

/// What is to be said of a RUN_DIR/config.toml that somebody has edited: what it has, and neither the checkpoint nor the run that goes on
/// from it, as "model.n_layer = 7, train.seed = 3", or why it cannot be read. Empty where there is nothing, or no such file.
std::string remark_on_edits(const std::filesystem::path& file, const Config& stored, const Config& now) {
  std::string list;
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file, missing)) {
    return "";
  }
  try {
    Config written = load_config(file, stored);
    resolve(written);
    for (const char* section : {"model", "tokenizer", "data", "optim", "train"}) {
      const auto of_now = differences(now, written, section);
      for (const ConfigDifference& difference : differences(stored, written, section)) {
        if (std::any_of(of_now.begin(), of_now.end(), [&](const ConfigDifference& other) { return other.path == difference.path; })) {
          append_to(list, concat(list.empty() ? "" : ", ", difference.path, " = ", difference.theirs));
        }
      }
    }
  } catch (const Error& error) {
    return concat(error.what(), "; the run does not read it");
  }
  return list.empty() ? "" : concat(file.string(), " says ", list, ", which the run does not");
}

/// What a run that goes on does otherwise than before, and what may surprise of it.
void add_changes(const Config& stored, const Config& now, std::vector<std::string>& remarks) {
  for (const char* section : {"model", "tokenizer", "data", "optim", "train"}) {
    for (const ConfigDifference& key : differences(stored, now, section)) {
      remarks.push_back(concat("changed: ", key.path, " is ", key.theirs, ", and was ", key.ours));
    }
  }
  const OptimConfig& optim = now.optim;
  const bool ends_at_min_lr = optim.schedule == "linear" || optim.schedule == "cosine";
  if (const index decay_steps = optim.decay_steps; ends_at_min_lr && now.train.max_steps > std::max(stored.train.max_steps, decay_steps)) {
    remarks.push_back(concat("steps after ", decay_steps, " train at the lowest learning rate, optim.min_lr = ", double{optim.min_lr},
                             ": the schedule ends there (optim.decay_steps)"));
  }
}

}  // namespace

struct Trainer::Parts : TrainingRun {
  using TrainingRun::TrainingRun;
  std::vector<std::string> remarks;
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
  require_space(out, parts->snapshot());
  parts->directory.emplace(RunDirectory::create(out));
  replace_file(parts->directory->path() / "config.toml", to_recipe(parts->config));
  parts->metrics.emplace(parts->directory->path() / "metrics.jsonl", 0);
  return Trainer(std::move(parts));
}

Trainer Trainer::plan(Config config, const StartOptions& options) {
  make_absolute(config);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  auto data = load_training_data(config, nullptr, options.progress);
  auto parts = std::make_unique<Parts>(std::move(config), std::move(data), seed);
  parts->reserve();
  return Trainer(std::move(parts));
}

Trainer Trainer::resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress) {
  RunDirectory directory = RunDirectory::open(run_directory);
  std::vector<std::string> remarks;
  const CheckpointFile checkpoint = open_checkpoint(directory.path(), options.pick, &remarks);
  const Config stored = config_of(checkpoint);
  Config config = stored;
  for (const std::string& assignment : options.overrides) {
    apply_override(config, assignment, RunStage::goes_on);
  }
  resolve(config);
  const std::filesystem::path config_file = directory.path() / "config.toml";
  const std::string edits = remark_on_edits(config_file, stored, config);
  add_changes(stored, config, remarks);
  make_absolute(config);
  const TrainingState& saved = checkpoint.state();
  require_input(config.train.max_steps >= saved.step, "train.max_steps is ", config.train.max_steps, ", but the run is at step ",
                saved.step, " already; to train on, set it to more");

  const KnownCorpus known{.tokenizer = checkpoint.tokenizer(), .fingerprint = saved.corpus_fingerprint};
  auto data = load_training_data(config, &known, progress);
  auto parts = std::make_unique<Parts>(std::move(config), std::move(data), saved.seed);
  parts->state = saved;
  parts->record_build();
  for (const std::string& assignment : options.overrides) {
    parts->state.overrides += concat("step ", saved.step, ": ", assignment, "\n");
  }
  parts->allocate();
  load_weights(checkpoint, parts->model.parameters());
  load_optimizer(checkpoint, *parts->optimizer);

  const bool has_steps_left = saved.step < parts->config.train.max_steps;
  if (has_steps_left) {
    require_space(directory.path(), parts->snapshot());
  }
  parts->directory.emplace(std::move(directory));
  parts->saved_step = saved.step;
  if (!edits.empty()) {
    remarks.push_back(concat(edits, ": what counts is in its checkpoint; change it with --set",
                             has_steps_left ? concat(" (kept as ", set_aside(config_file).filename().string(), ')') : ""));
  }
  if (has_steps_left) {  // a finished run keeps the configuration that its last checkpoint has
    replace_file(config_file, to_recipe(parts->config));
  }
  parts->metrics.emplace(parts->directory->path() / "metrics.jsonl", saved.step);
  if (!parts->metrics->remark().empty()) {
    remarks.push_back(parts->metrics->remark());
  }
  if (const auto done = parts->metrics->evaluation_of_last_step(); done && saved.evaluation_pending) {
    parts->take(*done);  // the run was stopped after it, and before the next save
  }
  if (options.pick == Pick::latest_good) {  // when nothing else can fail: what is told of it must be heard
    for (const auto& renamed : parts->directory->set_aside_after(saved.step)) {
      remarks.push_back(concat("renamed to ", renamed.string()));
    }
  }
  parts->remarks = std::move(remarks);
  return Trainer(std::move(parts));
}

const Config& Trainer::config() const { return parts_->config; }
const TrainingData& Trainer::data() const { return parts_->data; }
const LanguageModel& Trainer::model() const { return parts_->model; }
const TrainingState& Trainer::state() const { return parts_->state; }
const std::filesystem::path& Trainer::directory() const { return parts_->directory->path(); }
const std::vector<std::string>& Trainer::remarks() const { return parts_->remarks; }
index Trainer::epoch_size() const { return parts_->loader.epoch_size(); }
const MemoryPlan& Trainer::memory_plan() const { return parts_->memory; }
DiskPlan Trainer::disk_plan() const { return plan_disk(parts_->config, parts_->snapshot(), parts_->evaluates()); }
Trial Trainer::try_out(index steps) { return parts_->try_out(steps); }
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

Trainer::Outcome Trainer::run(TrainingEvents& events, const std::function<bool()>& stop) { return parts_->go_on(events, stop); }

}  // namespace dikkat
