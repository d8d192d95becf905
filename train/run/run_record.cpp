#include "train/run/run_record.h"

#include "train/checkpoint/save.h"
#include "train/metrics/run_history.h"
#include "train/system/file.h"
#include "train/system/free_space.h"
#include "train/system/out_of_memory.h"

namespace dikkat {
namespace {

/// Returns whether the folder has only files that a start with this config.toml wrote before its first checkpoint. A run that has lost its
/// checkpoints does not count: it has recorded that it saved them.
bool is_start_of(const std::string& config_text, const std::filesystem::path& folder) {
  HistoryReader reader(folder);
  reader.update();
  return reader.history().saves.empty() && read_bytes(folder / "config.toml") == config_text;
}

}  // namespace

void RunRecord::create(const NewRunPath& out) {
  if (!ranks_.is_first()) {
    return;
  }
  require_space(out.path);
  const std::string config_text = to_recipe(config_);
  directory_.emplace(RunDirectory::create(out, nullptr, [&](const auto& folder) { return is_start_of(config_text, folder); }));
  is_new_ = true;
  replace_file(directory_->path() / "config.toml", config_text);
  metrics_.emplace(directory_->path() / "metrics.jsonl", 0);
}

void RunRecord::reopen(std::optional<RunDirectory> directory) {
  saved_step_ = state_.step;
  if (!directory) {
    return;
  }
  if (state_.step < config_.train.max_steps) {
    require_space(directory->path());
  }
  directory_ = std::move(directory);
  metrics_.emplace(directory_->path() / "metrics.jsonl", state_.step);
}

void RunRecord::discard() {
  metrics_.reset();
  try {
    if (directory_ && is_new_) {
      std::move(*directory_).remove();
    }
  } catch (const Error&) {  // the caller has a failure of its own to report
  }
  directory_.reset();
}

void RunRecord::require_space(const std::filesystem::path& run_directory) const {
  const std::string lack = lack_of_space(run_directory, expected_bytes(snapshot_()));
  require_input(lack.empty(), "there is no room for the next checkpoint: ", lack,
                "; free some space, choose another --out, or keep fewer checkpoints with train.keep_last");
}

void RunRecord::begin(TrainingEvents& events, const RunHeader& header, const std::vector<ConfigDifference>& changes) {
  if (!directory_) {
    return;
  }
  if (config_.train.async_save) {
    naming_memory("saving", [&] { saver_.emplace(directory_->checkpoints_path()); });
  }
  attempt(events, IfFailed::as_configured, [&] {
    if (!metrics_->has_header()) {
      metrics_->write(header);
    }
    if (saved_step_ >= 0) {
      if (!metrics_->has_save_of_last_step()) {  // the run ended between the save and its line
        const auto file = directory_->checkpoints_path() / checkpoint_name(saved_step_);
        std::error_code error;
        if (const auto bytes = std::filesystem::file_size(file, error); !error) {
          metrics_->write("save", saved_step_, {{"file", file.filename().string()}, {"bytes", static_cast<index>(bytes)}});
        }
      }
      metrics_->write_resume(state_.step, header.provenance);
    }
    for (const ConfigDifference& change : changes) {
      metrics_->write("change", state_.step, {{"key", change.path}, {"before", change.ours}, {"after", change.theirs}});
    }
  });
}

void RunRecord::save(TrainingEvents& events, IfFailed if_failed) {
  if (!directory_) {
    saved_step_ = state_.step;
    return;
  }
  if_save_failed_ = if_failed;
  attempt(events, if_failed, [&] {
    directory_->require_held();
    if (saver_) {
      saver_->start(snapshot_());
    } else {
      record_save(events, save_checkpoint(directory_->checkpoints_path(), snapshot_()));
    }
  });
}

void RunRecord::record_save_in_background(TrainingEvents& events, bool wait) {
  attempt(events, if_save_failed_, [&] {
    if (const auto saved = saver_ ? saver_->collect(wait) : std::nullopt) {
      record_save(events, *saved);
    }
  });
}

void RunRecord::record_save(TrainingEvents& events, const SavedCheckpoint& saved) {
  saved_step_ = saved.step();
  directory_->retain(saved, config_.train.keep_last, state_.best_step);
  events.saved(saved);
  log(events, "save", saved.step(), MetricsLog::Fields{{"file", saved.path().filename().string()}, {"bytes", saved.bytes()}});
}

bool RunRecord::record_evaluation(const EvaluationReport& report) {
  state_.evaluation_pending = false;
  const EvaluationScore best{.val_loss = state_.best_val_loss, .accuracy = state_.best_accuracy};
  if (!is_better(score_of(report), best) || saved_step_ != report.step) {
    return false;
  }
  if (directory_) {
    directory_->record_best(report.step);
  }
  state_.best_val_loss = report.val_loss;
  state_.best_accuracy = score_of(report).accuracy;
  state_.best_step = report.step;
  return true;
}

void RunRecord::agree() {
  double values[] = {static_cast<double>(saved_step_), static_cast<double>(state_.best_step), state_.best_val_loss, state_.best_accuracy,
                     static_cast<double>(state_.evaluation_pending)};
  ranks_.share<double>(std::vector<OwnedRange>{{0, std::ssize(values), 0}}, values);
  saved_step_ = static_cast<index>(values[0]);
  state_.best_step = static_cast<index>(values[1]);
  state_.best_val_loss = values[2];
  state_.best_accuracy = values[3];
  state_.evaluation_pending = values[4] != 0;
}

std::string RunRecord::write_bad_step(const BadStep& step, const Loader& loader, const Tokenizer& tokenizer) {
  if (!directory_) {
    return "";
  }
  try {
    directory_->require_held();
    return concat(
        "its batch is in ",
        dikkat::write_bad_step(directory_->path(), step, loader, state_.samples_seen, config_.train.batch_size, tokenizer).string());
  } catch (const Error& error) {
    return error.what();
  }
}

std::string RunRecord::last_good() const {
  const auto newest = directory_ ? directory_->newest() : std::nullopt;
  return newest ? concat("The last good checkpoint is ", newest->path.string()) : "There is no checkpoint";
}

std::string RunRecord::advice() const {
  return directory_ ? concat(". ", last_good(), "; dikkat resume ", directory_->path().string(), " continues from it")
                    : ". dikkat resume continues from the last good checkpoint";
}

void RunRecord::attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write) {
  try {
    naming_memory("saving", write);
  } catch (const Error& error) {
    if (if_failed == IfFailed::end || config_.train.on_failed_save == OnFailedSave::stop) {
      throw;
    }
    events.write_failed(error.what());
  }
}

}  // namespace dikkat
