#include "train/library/run_folder.h"

#include <algorithm>
#include <cmath>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"
#include "train/metrics/run_history.h"
#include "train/run/own_provenance.h"
#include "train/system/file.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

constexpr const char* kMetricsName = "metrics.jsonl";

/// Opens the folder of an earlier start, or makes a new one.
RunDirectory open_or_create(const std::filesystem::path& path) {
  if (!is_folder(checkpoint_directory(path))) {
    return RunDirectory::create(path);
  }
  require_input(!is_there(path / "config.toml"), path.string(),
                " has a run of dikkat train (it has a config.toml), expected a new folder or one of this program's runs");
  return RunDirectory::open(path);
}

/// Returns the settings of the last start: those of the header, with the later changes.
Settings settings_of(const RunHistory& history) {
  Settings settings = history.header ? history.header->settings : Settings{};
  for (const RunHistory::Event& event : history.events) {
    if (event.kind == "change") {
      std::erase_if(settings, [&](const auto& one) { return one.first == event.key; });
      settings.emplace_back(event.key, event.after);
    }
  }
  return settings;
}

std::string value_in(const Settings& settings, const std::string& name) {
  const auto one = std::ranges::find(settings, name, &Settings::value_type::first);
  return one == settings.end() ? "" : one->second;
}

}  // namespace

RunFolder::RunFolder(const std::filesystem::path& path, Options options)
    : directory_(open_or_create(path)), options_(std::move(options)), last_entry_(std::chrono::steady_clock::now()) {
  require(options_.keep_last >= 1, "run folder: keep_last is ", options_.keep_last, ", expected 1 or more");
}

MetricsLog& RunFolder::log() {
  require(log_.has_value(), "run folder: ", path().string(), " is not begun, expected a call of resume() before the loop");
  directory_.require_held();
  return *log_;
}

index RunFolder::resume(ParameterStore& parameters, Optimizer& optimizer, std::span<const LoadedArray> arrays) {
  return begin(parameters.parameter_count(), [&] { return load(path(), parameters, optimizer, arrays); });
}

index RunFolder::resume(std::span<const NamedModel> models, std::span<const LoadedArray> arrays) {
  index parameters = 0;
  for (const NamedModel& model : models) {
    parameters += model.parameters.parameter_count();
  }
  return begin(parameters, [&] { return load(path(), models, arrays); });
}

/// Loads the newest checkpoint, if there is one, and begins the log of this start.
index RunFolder::begin(index parameters, const std::function<index()>& load_newest) {
  require(!log_, "run folder: resume() called a second time, expected one call before the loop");
  // Load the newest checkpoint, if there is one.
  const auto newest = directory_.newest();
  last_step_ = newest ? load_newest() : 0;
  saved_step_ = newest ? last_step_ : -1;
  if (const auto best = directory_.best()) {
    const auto evaluation = read_evaluation(path(), best->step);
    best_ = {.step = best->step, .val_loss = evaluation ? evaluation->val_loss : best_.val_loss};
  }
  // Open the metrics, and write the header, or the line of a resume.
  log_.emplace(path() / kMetricsName, last_step_);
  if (const auto& evaluation = log_->evaluation_of_last_step(); evaluation && newest) {
    evaluated_ = {.step = last_step_, .val_loss = evaluation->val_loss};
    record_best();  // the program may have ended before doing this
  }
  if (!log_->has_header()) {
    log_->write(RunHeader{.provenance = own_provenance(), .step = last_step_, .parameters = parameters, .settings = options_.settings});
  }
  if (newest) {
    if (!log_->has_save_of_last_step()) {  // the program ended between the save and its line
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(newest->path, unknown);
      log_->write("save", last_step_, {{"file", newest->path.filename().string()}, {"bytes", unknown ? 0 : static_cast<index>(bytes)}});
    }
    log_->write_resume(last_step_, own_provenance());
  }
  HistoryReader reader(path());
  reader.update();
  record_settings(settings_of(reader.history()));
  seconds_since_entry();
  return last_step_;
}

/// Writes the settings that differ from those before.
void RunFolder::record_settings(const Settings& before) {
  Settings all = before;
  std::ranges::copy(options_.settings, std::back_inserter(all));
  std::vector<std::string> done;
  for (const auto& [name, value] : all) {
    const std::string old = value_in(before, name), now = value_in(options_.settings, name);
    if (old != now && std::ranges::find(done, name) == done.end()) {
      done.push_back(name);
      log_->write("change", last_step_, {{"key", name}, {"before", old}, {"after", now}});
    }
  }
}

/// Returns the seconds since the last call.
double RunFolder::seconds_since_entry() {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_entry_, now)).count();
}

void RunFolder::log_step(const LoopStep& step) {
  MetricsLog& lines = log();
  const double seconds = seconds_since_entry();
  last_step_ = step.step;
  lines.write(StepReport{.step = step.step,
                         .loss = step.loss,
                         .gradient_norm = step.gradient_norm,
                         .learning_rate = step.learning_rate,
                         .tokens = step.tokens,
                         .seconds = std::isnan(step.seconds) ? seconds : step.seconds,
                         .optimizer_seconds = std::numeric_limits<double>::quiet_NaN()});
}

void RunFolder::log_evaluation(const LoopEvaluation& evaluation) {
  MetricsLog& lines = log();
  EvaluationReport report{
      .step = evaluation.step, .train_loss = evaluation.train_loss, .val_loss = evaluation.val_loss, .seconds = seconds_since_entry()};
  for (const auto& [name, value] : evaluation.measures) {
    report.losses.push_back({.name = name, .loss = value});
  }
  lines.write(report);
  last_step_ = evaluation.step;
  evaluated_ = {.step = evaluation.step, .val_loss = evaluation.val_loss};
  record_best();
}

void RunFolder::save(const ParameterStore& parameters, Optimizer& optimizer, index step, std::span<const SavedArray> arrays) {
  save_snapshot(library_snapshot(parameters, optimizer, step, arrays));
}

void RunFolder::save(std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays) {
  save_snapshot(library_snapshot(models, step, arrays));
}

void RunFolder::save_snapshot(const Snapshot& snapshot) {
  MetricsLog& lines = log();
  const index step = snapshot.state.step;
  const SavedCheckpoint saved = save_checkpoint(directory_.checkpoints_path(), snapshot);
  saved_step_ = step;
  last_step_ = step;
  record_best();
  directory_.retain(saved, options_.keep_last, best_.step);
  lines.write("save", step, {{"file", saved.path().filename().string()}, {"bytes", saved.bytes()}});
  seconds_since_entry();  // the next step does not include the time of the save
}

/// Makes the newest checkpoint the best one if its evaluation is.
void RunFolder::record_best() {
  if (saved_step_ >= 0 && evaluated_.step == saved_step_ && evaluated_.val_loss < best_.val_loss) {
    directory_.record_best(saved_step_);
    best_ = evaluated_;
  }
}

std::filesystem::path RunFolder::best() const {
  const auto best = directory_.best();
  return best ? best->path : std::filesystem::path{};
}

void RunFolder::finish() { log().write("finish", last_step_); }

}  // namespace dikkat
