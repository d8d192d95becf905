#include <algorithm>

#include "train/config/override.h"
#include "train/config/resolve.h"
#include "train/model/adapters.h"
#include "train/model/pack_weights.h"
#include "train/model/precision.h"
#include "train/model/trained_model.h"
#include "train/run/absolute_paths.h"
#include "train/run/run_remarks.h"
#include "train/run/trainer.h"
#include "train/run/training_snapshot.h"
#include "train/system/file.h"
#include "train/system/folder.h"

// How a run is resumed.
namespace dikkat {
namespace {

constexpr const char* kConfigName = "config.toml";

/// A run directory that is opened, and the checkpoint that the run continues from.
struct OpenRun {
  std::optional<RunDirectory> directory;  // on the first rank
  std::optional<CheckpointFile> checkpoint;
};

/// Opens the directory and chooses a checkpoint on the first rank. The others open the same checkpoint.
OpenRun open_run(const std::filesystem::path& run_directory, CheckpointChoice choice, Ranks& ranks, std::vector<std::string>& remarks) {
  OpenRun run;
  ranks.run_on_all([&] {
    if (ranks.is_first()) {
      run.directory = RunDirectory::open(run_directory);
      run.checkpoint = open_checkpoint(run.directory->path(), choice, &remarks);
    }
  });
  const std::string path = ranks.from_first(run.checkpoint ? run.checkpoint->path().string() : "");
  if (!ranks.is_first()) {
    run.checkpoint = CheckpointFile::open(path);
  }
  require_language_model(*run.checkpoint);
  require_input(is_of_a_run(run.checkpoint->state()), run_directory.string(),
                " is a model without a run's history, as dikkat merge and import make it, so there is nothing to resume; to train it on: "
                "dikkat finetune ",
                run_directory.string(), " --data PATH, or dikkat train --init-from ", run_directory.string());
  return run;
}

/// Applies the options to the checkpoint's configuration, and notes them in its state.
void change_config(Config& config, TrainingState& state, const std::filesystem::path& run_directory,
                   const Trainer::ResumeOptions& options) {
  for (const std::string& assignment : options.overrides) {
    apply_override(config, assignment, RunStage::continues);
    state.overrides += concat("step ", state.step, ": ", assignment, "\n");
  }
  resolve(config);
  settle_precision(config);
  if (!options.base.empty()) {
    require_input(config.lora.rank > 0, run_directory.string(), " has no adapters, expected a run of adapters with --base");
    require_base_at(options.base, run_directory.string());
    config.train.init_from = options.base;
    make_absolute(config);
    state.overrides += concat("step ", state.step, ": train.init_from=", config.train.init_from, "\n");
  }
}

}  // namespace

Trainer Trainer::resume(const std::filesystem::path& run_directory, const ResumeOptions& options, const LoadingProgress& progress,
                        std::shared_ptr<Ranks> ranks, const ObjectiveMaker& learns) {
  // Open the run.
  std::vector<std::string> remarks;
  OpenRun run = open_run(run_directory, options.choice, *ranks, remarks);
  const CheckpointFile& checkpoint = *run.checkpoint;

  // Change its configuration.
  const ResolvedConfig stored = config_of(checkpoint, &remarks);
  Config config = stored;
  TrainingState state = checkpoint.state();
  change_config(config, state, run_directory, options);
  if (std::string remark = remark_on_kernels(state); !remark.empty()) {
    remarks.push_back(std::move(remark));
  }
  const std::string edits = remark_on_edits(run_directory / kConfigName, stored, config);
  std::vector<ConfigDifference> changes = changes_between(stored, config);
  std::ranges::move(remarks_on_changes(changes, stored, config, state.step), std::back_inserter(remarks));
  make_absolute(config);
  require_input(config.train.max_steps >= state.step, "train.max_steps is ", config.train.max_steps, ", but the run is already at step ",
                state.step, "; to continue training, set it higher");

  // Load texts, weights and optimizer state, and write the first files.
  const KnownCorpus known{.tokenizer = checkpoint.tokenizer(), .fingerprint = state.corpus_fingerprint};
  ResolvedConfig resolved(std::move(config));
  TrainingData data = load_training_data(resolved, &known, progress);
  return Trainer(std::move(resolved), std::move(data), std::move(state), std::move(ranks), learns, [&](Trainer& trainer) {
    trainer.resumed_ = {.remarks = std::move(remarks), .changes = std::move(changes)};
    trainer.allocate();
    trainer.load(checkpoint);
    trainer.objective_->restore(run_directory);
    trainer.record_.reopen(std::move(run.directory));
    if (trainer.record_.is_open()) {
      trainer.prepare_directory(edits, options.choice);
    }
  });
}

void Trainer::load(const CheckpointFile& checkpoint) {
  load_model(
      checkpoint, config_, model_.parameters(), [&](ParameterStore::Entry& entry) { pack_frozen(model_.parameters(), entry); },
      Weights::trained);
  load_optimizer(checkpoint, *optimizer_);
  parallel_step_->release_foreign_state();
}

/// Prepares the directory of a resumed run: takes over an evaluation from the metrics, and replaces config.toml. `edits`: a remark on the
/// old config.toml.
void Trainer::prepare_directory(const std::string& edits, CheckpointChoice choice) {
  if (const auto& done = record_.metrics().evaluation_of_last_step(); done && state_.evaluation_pending) {
    record_.record_evaluation(*done);  // the run was stopped after it, and before the next save
  }
  const std::filesystem::path config_file = directory() / kConfigName;
  // A finished run keeps the configuration of its last checkpoint.
  const bool continues = state_.step < config_.train.max_steps && !out_of_patience();
  if (!edits.empty()) {
    resumed_.remarks.push_back(concat(edits, ": a resumed run takes its configuration from the checkpoint; change it with --set",
                                      continues ? concat(" (kept as ", set_aside(config_file).filename().string(), ')') : ""));
  }
  if (continues) {
    replace_file(config_file, to_recipe(config_));
  }
  if (!record_.metrics().remark().empty()) {
    resumed_.remarks.push_back(record_.metrics().remark());
  }
  if (choice == CheckpointChoice::latest_good) {  // last, when nothing else can fail, so that the user sees the remark
    for (const auto& renamed : record_.directory().set_aside_after(state_.step)) {
      resumed_.remarks.push_back(concat("renamed to ", renamed.string()));
    }
  }
}

}  // namespace dikkat
