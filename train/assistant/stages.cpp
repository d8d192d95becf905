#include "train/assistant/stages.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/seconds_since.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/lock.h"
#include "train/assistant/chats.h"
#include "train/assistant/planner.h"
#include "train/cli/assistant_text.h"
#include "train/cli/commands/resume_command.h"
#include "train/cli/commands/train_command.h"
#include "train/cli/eval_tasks.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/override.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/config/value.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"
#include "train/assistant/plan.h"
#include "train/run/run_remarks.h"
#include "train/run/trainer.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Runs the stages of a folder, from the plan that it has.
class Assistant {
 public:
  explicit Assistant(const fs::path& folder) : folder_(folder), lock_(FolderLock::take(folder)), plan_(read_plan(folder)) {
    lock_.sign();
    remove_temporaries(folder);
  }

  /// Returns the exit code.
  int run() {
    print_message(plan_.table);
    write_chats();
    write_pairs();
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      AssistantStage& stage = plan_.stages[i];
      const double kept = check_run(stage);
      if (stage.done) {
        continue;
      }
      print_message(fmt::format("stage {} of {}: {}", i + 1, plan_.stages.size(), stage.name));
      const auto start = Clock::now();
      if (i == 0 && !plan_.from.empty() && plan_.before.empty() && !ask(plan_.from, plan_.before)) {
        return stopped();
      }
      const int code = train(stage);
      stage.done = code == 0 && ask(run_of(stage), stage.tasks);
      stage.took = std::max(stage.took, kept) + seconds_since(start);
      write_plan(folder_, plan_);
      if (!stage.done) {
        return stop_requested() ? stopped() : code;
      }
    }
    save_model_of(plan_.stages.back());
    write_assistant_report(folder_, plan_);
    return 0;
  }

  const AssistantPlan& plan() const { return plan_; }

 private:
  fs::path run_of(const AssistantStage& stage) const { return folder_ / stage.name; }

  int stopped() const {
    print_message(concat("continue with: dikkat resume ", folder_.string()));
    return 128 + stop_signal();
  }

  /// Writes the files made from the chats, unless an earlier start did.
  void write_chats() {
    const auto chats = std::ranges::find(plan_.stages, "chats", &AssistantStage::name);
    if (chats == plan_.stages.end() || is_there(folder_ / kLearnedChats)) {
      return;
    }
    const AssistantChats texts = read_assistant_chats(plan_.chats, plan_.name, plan_.longest_question);
    for (const auto& [name, text] : {std::pair(kHeldOutChats, &texts.held_out), std::pair(kTasks, &texts.tasks)}) {
      if (!text->empty()) {
        replace_file(folder_ / name, *text);
      }
    }
    replace_file(folder_ / kLearnedChats, texts.learned);
  }

  /// Writes the pairs that there is time for, unless an earlier start did.
  void write_pairs() {
    if (plan_.learned_pairs > 0 && !is_there(folder_ / kLearnedPairs)) {
      replace_file(folder_ / kLearnedPairs, some_lines(plan_.pairs, plan_.learned_pairs));
    }
  }

  /// Throws InputError if the folder of a stage has another run than the plan's: one with other settings, other texts or another length.
  /// Returns the seconds that the steps of its newest checkpoint took; 0 if there is none.
  double check_run(const AssistantStage& stage) const {
    const fs::path run = run_of(stage);
    if (!is_folder(checkpoint_directory(run)) || list_checkpoints(run).empty()) {
      return 0;
    }
    // Files of the assistant's folder are compared by name, since the folder may have been moved.
    const auto is_planned = [](const std::string& found, const std::string& planned) {
      return fs::path(planned).is_absolute() ? found == planned : fs::path(found).filename() == planned;
    };
    const auto require_planned = [&](bool agrees, const std::string& key, const std::string& found, const std::string& planned) {
      require_input(agrees, run.string(), " has another run than ", assistant_file(folder_).string(), " plans: its ", key, " is ", found,
                    ", not ", planned, "; bring the stage's own run back, or move this one away to train the stage again");
    };
    const CheckpointFile checkpoint = open_checkpoint(run);
    const Config stored = config_of(checkpoint);
    Config planned = stored;
    for (const std::string& setting : stage.settings) {
      if (key_of_override(setting) != "data.validation") {
        apply_override(planned, setting);
      }
    }
    resolve(planned);
    if (planned.preference.method == PreferenceMethod::auto_ && stored.preference.is_on()) {
      planned.preference.method = stored.preference.method;  // settled by the texts
    }
    for (const ConfigDifference& difference : changes_between(stored, planned)) {
      require_planned(false, difference.path, difference.ours, difference.theirs);
    }
    require_planned(std::ranges::equal(stored.data.corpus, stage.corpus, is_planned), "data.corpus", names_of(stored.data.corpus),
                    names_of(stage.corpus));
    const bool is_earlier = std::ranges::find(plan_.stages, stage.from, &AssistantStage::name) != plan_.stages.end();
    require_planned(stage.from.empty() ? stored.train.init_from.empty()
                                       : is_planned(stored.train.init_from, stage.from) ||
                                             (is_earlier && is_planned(stored.train.init_from, merged_name(stage.from))),
                    "train.init_from", stored.train.init_from, stage.from);
    const index step = checkpoint.state().step;
    require_planned(step <= stage.steps && (!stage.done || step == stage.steps), "last step", concat(step), concat(stage.steps));
    return read_seconds(run, step);
  }

  static std::string merged_name(const std::string& stage) { return concat(stage, "-merged"); }

  /// Returns the path of a stage's text. Files that were made in this folder have relative names; the user's paths are absolute.
  std::string path_of(const std::string& text) const { return (folder_ / text).string(); }

  /// Trains a stage, or the rest of it. Returns the exit code.
  int train(const AssistantStage& stage) {
    const fs::path run = run_of(stage);
    HistoryReader reader(run);
    reader.update();
    if (reader.history().finished()) {
      return 0;
    }
    if (is_folder(checkpoint_directory(run)) && !list_checkpoints(run).empty()) {
      return resume_command({.run_directory = run.string(), .is_stage = true});
    }
    TrainArguments arguments;
    arguments.run.set = stage.settings;
    for (std::string& setting : arguments.run.set) {
      if (setting == concat("data.validation=", kHeldOutChats)) {
        setting = concat("data.validation=[", schema::toml_string(path_of(kHeldOutChats)), ']');
      }
    }
    std::ranges::transform(stage.corpus, std::back_inserter(arguments.run.corpus), [&](const std::string& text) { return path_of(text); });
    arguments.run.init_from = origin_of(stage);
    arguments.out = run.string();
    arguments.is_stage = true;
    return train_command(arguments);
  }

  /// Returns the model that a stage starts from: a complete one, since adapters cannot be trained on adapters.
  std::string origin_of(const AssistantStage& stage) {
    const auto earlier = std::ranges::find(plan_.stages, stage.from, &AssistantStage::name);
    if (earlier == plan_.stages.end()) {
      return stage.from;
    }
    const fs::path run = run_of(*earlier);
    if (ModelOrigin::open(run.string()).config().lora.rank == 0) {
      return run.string();
    }
    const fs::path merged = folder_ / merged_name(earlier->name);
    save_complete(run, merged);
    return merged.string();
  }

  /// Asks a model the held-out questions. Returns false if a signal stopped it.
  bool ask(const fs::path& model, std::string& tasks) const {
    if (plan_.tasks.empty()) {
      return true;
    }
    stop_in_order();
    const auto answers = ask_tasks(load_trained_model(model.string()), (folder_ / plan_.tasks).string());
    if (answers) {
      tasks = json_text(object_of(*answers));
    }
    return answers.has_value();
  }

  static bool has_intact_model(const fs::path& folder) {
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
  static void save_complete(const fs::path& run, const fs::path& out) {
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

  void save_model_of(const AssistantStage& last) { save_complete(run_of(last), folder_); }

  fs::path folder_;
  FolderLock lock_;
  AssistantPlan plan_;
};

}  // namespace

int run_assistant(const fs::path& folder, bool json, Clock::time_point start) {
  Assistant assistant(folder);
  if (const int code = assistant.run(); code != 0) {
    return code;
  }
  const std::string out = folder.string();
  print_message(report_text(assistant.plan()));
  print_message(
      fmt::format("this command took {}; the time given was {}\n", clock_time(seconds_since(start)), clock_time(assistant.plan().seconds)));
  print_message(for_terminal(concat("next: dikkat chat ", out, "\n      dikkat serve ", out)));
  print_result((json ? plan_as_json(assistant.plan()) : out) + '\n');
  flush_results();
  return 0;
}

}  // namespace dikkat
