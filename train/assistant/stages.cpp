#include "train/assistant/stages.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "autograd/base/error.h"
#include "autograd/base/seconds_since.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"
#include "train/run/run_remarks.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/temporary_file.h"

namespace dikkat::assistant {
namespace {

namespace fs = std::filesystem;

bool has_checkpoints(const fs::path& run) { return is_folder(checkpoint_directory(run)) && !list_checkpoints(run).empty(); }

/// Returns whether an edit names the conversations for validation, whose place depends on the folder.
bool is_of_validation(const ConfigEdit& edit) { return edit.key().path() == "data.validation"; }

std::string merged_name(StageKind kind) { return concat(name_of(kind), "-merged"); }

/// "a.txt", or "a.txt and 2 others".
std::string in_words(const std::vector<std::string>& paths) {
  return paths.size() < 2 ? concat(paths.empty() ? "" : paths.front())
                          : concat(paths.front(), " and ", paths.size() - 1, paths.size() == 2 ? " other" : " others");
}

/// Returns whether a path of a run is the planned one. Files of the assistant's folder are compared by name, since the folder may have been
/// moved.
bool is_planned(const std::string& found, const std::string& planned) {
  return fs::path(planned).is_absolute() ? found == planned : fs::path(found).filename() == planned;
}

bool has_intact_model(const fs::path& folder) {
  if (list_checkpoints(folder).empty()) {
    return false;
  }
  try {
    open_checkpoint(folder);  // verifies all of it
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Saves the model of a run, with its adapters added, as a folder that every command takes. Does nothing if an earlier start did, and its
/// file is intact.
void save_complete(const fs::path& run, const fs::path& out) {
  if (has_intact_model(out)) {
    return;
  }
  remove_tree(checkpoint_directory(out));
  TrainedModel model = load_trained_model(run.string());
  Config config = model.config;
  config.train.init_from.clear();
  config.data = {};
  resolve(config);
  make_folders(out);
  replace_file(out / "config.toml", to_recipe(config));
  save_model(checkpoint_directory(out), *model.model, *model.tokenizer, config);
}

}  // namespace

Stages::Stages(const fs::path& folder) : folder_(folder), lock_(FolderLock::take(folder)), plan_(read_plan(folder)) {
  lock_.sign();
  remove_temporaries(folder);
}

bool Stages::run(StageRunner& runner, Events& events, const ShippedData& shipped) {
  events.begins(plan_);
  write_chats(shipped);
  write_pairs();
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    Stage& stage = plan_.stages[i];
    const double kept = check_run(stage);
    if (stage.done) {
      continue;
    }
    events.stage_begins(plan_, i);
    const auto start = std::chrono::steady_clock::now();
    if (i == 0 && !plan_.wishes.from.empty() && plan_.before.empty() && !ask(plan_.wishes.from, plan_.before, runner)) {
      return false;
    }
    stage.done = train(stage, runner) && ask(run_of(stage.kind), stage.tasks, runner);
    stage.took = std::max(stage.took, kept) + seconds_since(start);
    write_plan(folder_, plan_);
    if (!stage.done) {
      return false;
    }
  }
  save_complete(run_of(plan_.stages.back().kind), folder_);
  return true;
}

fs::path Stages::run_of(StageKind kind) const { return folder_ / name_of(kind); }

/// Writes the files made from the chats, unless an earlier start did.
void Stages::write_chats(const ShippedData& shipped) const {
  if (plan_.find(StageKind::chats) == nullptr || is_there(folder_ / kLearnedChats)) {
    return;
  }
  const Chats chats = read_chats(plan_.wishes, shipped);
  const Tasks tasks = tasks_of(chats, plan_.longest_question);
  for (const auto& [name, text] : {std::pair(kHeldOutChats, &chats.held_out), std::pair(kTasks, &tasks.lines)}) {
    if (!text->empty()) {
      replace_file(folder_ / name, *text);
    }
  }
  replace_file(folder_ / kLearnedChats, chats.learned);
}

/// Writes the pairs that there is time for, unless an earlier start did.
void Stages::write_pairs() const {
  if (plan_.learned_pairs > 0 && !is_there(folder_ / kLearnedPairs)) {
    replace_file(folder_ / kLearnedPairs, some_lines(plan_.wishes.pairs, plan_.learned_pairs));
  }
}

/// Trains a stage, or the rest of it. Returns false if it was stopped.
bool Stages::train(const Stage& stage, StageRunner& runner) const {
  const fs::path run = run_of(stage.kind);
  HistoryReader reader(run);
  reader.update();
  return reader.history().finished() || (has_checkpoints(run) ? runner.resume(run) : runner.train(placed(stage), run));
}

/// Asks a model the held-out questions. Returns false if it was stopped.
bool Stages::ask(const fs::path& model, std::string& tasks, StageRunner& runner) const {
  if (plan_.tasks.empty()) {
    return true;
  }
  const auto answers = runner.ask(model, folder_ / plan_.tasks);
  tasks = answers.value_or(tasks);
  return answers.has_value();
}

/// Throws InputError if the folder of a stage has another run than the plan's: one with other settings, other texts or another length.
/// Returns the seconds that the steps of its newest checkpoint took; 0 if there is none.
double Stages::check_run(const Stage& stage) const {
  const fs::path run = run_of(stage.kind);
  if (!has_checkpoints(run)) {
    return 0;
  }
  const auto require_planned = [&](bool agrees, const std::string& key, const std::string& found, const std::string& planned) {
    require_input(agrees, run.string(), " has another run than ", plan_file(folder_).string(), " plans: its ", key, " is ", found, ", not ",
                  planned, "; bring the stage's own run back, or move this one away to train the stage again");
  };
  // Compare its configuration with the planned one.
  const CheckpointFile checkpoint = open_checkpoint(run);
  const Config stored = config_of(checkpoint);
  Config planned = stored;
  for (const ConfigEdit& edit : stage.edits) {
    if (!is_of_validation(edit)) {
      edit.apply(planned);
    }
  }
  resolve(planned);
  if (planned.preference.method == PreferenceMethod::auto_ && stored.preference.is_on()) {
    planned.preference.method = stored.preference.method;  // settled by the texts
  }
  for (const ConfigDifference& difference : changes_between(stored, planned)) {
    require_planned(false, difference.path, difference.ours, difference.theirs);
  }
  // Compare its texts, its origin and its length.
  require_planned(std::ranges::equal(stored.data.corpus, stage.corpus, is_planned), "data.corpus", in_words(stored.data.corpus),
                  in_words(stage.corpus));
  const std::string from = plan_.origin_of(stage), &stored_from = stored.train.init_from;
  const bool is_merged = stage.after && plan_.find(*stage.after) != nullptr && is_planned(stored_from, merged_name(*stage.after));
  require_planned(from.empty() ? stored_from.empty() : is_planned(stored_from, from) || is_merged, "train.init_from", stored_from, from);
  const index step = checkpoint.state().step;
  require_planned(step <= stage.steps && (!stage.done || step == stage.steps), "last step", concat(step), concat(stage.steps));
  return read_seconds(run, step);
}

/// Returns the run of a stage, with the paths of its texts and its model. Files that were made in this folder have relative names; the
/// user's paths are absolute.
StageRun Stages::placed(const Stage& stage) const {
  const auto path_of = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    std::ranges::transform(names, std::back_inserter(paths), [&](const std::string& name) { return (folder_ / name).string(); });
    return paths;
  };
  StageRun run{.edits = stage.edits, .corpus = path_of(stage.corpus), .init_from = origin_of(stage)};
  for (ConfigEdit& edit : run.edits) {
    if (is_of_validation(edit)) {
      edit = {"data.validation", path_of(std::get<std::vector<std::string>>(edit.value()))};
    }
  }
  return run;
}

/// Returns the model that a stage starts from: a complete one, since adapters cannot be trained on adapters.
std::string Stages::origin_of(const Stage& stage) const {
  if (!stage.after) {
    return plan_.wishes.from;
  }
  const fs::path run = run_of(*stage.after);
  if (ModelOrigin::open(run.string()).config().lora.rank == 0) {
    return run.string();
  }
  const fs::path merged = folder_ / merged_name(*stage.after);
  save_complete(run, merged);
  return merged.string();
}

}  // namespace dikkat::assistant
