#include "train/cli/commands/assistant_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "train/assistant/machine_measure.h"
#include "train/assistant/planner.h"
#include "train/assistant/stages.h"
#include "train/checkpoint/lock.h"
#include "train/cli/assistant_text.h"
#include "train/cli/commands.h"
#include "train/cli/commands/train_command.h"
#include "train/cli/eval_tasks.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/with_ranks.h"
#include "train/data/corpus/corpus_files.h"
#include "train/model/trained_model.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using assistant::is_assistant;
using assistant::Plan;
using assistant::Wishes;
using Clock = std::chrono::steady_clock;

struct AssistantArguments {
  std::vector<std::string> corpus;
  std::string chats, pairs, time, preset, from, name, out;
  bool plan_only = false, json = false;
};

constexpr const char* kUsualName = "Dikkat";

struct Preset {
  const char* name;
  double seconds;
};
constexpr Preset kPresets[] = {{"tiny", 300}, {"student", 3600}, {"small", 8 * 3600}};

/// Returns the seconds of --time or --preset; nullopt if neither is given.
std::optional<double> wanted_seconds(const AssistantArguments& arguments) {
  require_input(arguments.time.empty() || arguments.preset.empty(), "--time and --preset both set the time; give only one of them");
  if (!arguments.time.empty()) {
    const auto seconds = duration_in_seconds(arguments.time);
    require_input(seconds.has_value(), "--time is ", arguments.time, ", expected a time such as 90s, 40m or 3h");
    return seconds;
  }
  if (arguments.preset.empty()) {
    return std::nullopt;
  }
  const auto* const preset = std::ranges::find(kPresets, arguments.preset, [](const Preset& one) { return std::string_view(one.name); });
  require_input(preset != std::end(kPresets), "--preset is ", arguments.preset,
                ", expected tiny (5 minutes), student (1 hour) or small (8 hours)");
  return preset->seconds;
}

std::string absolute(const std::string& path) { return path.empty() ? path : absolute_path(path).lexically_normal().string(); }

std::vector<std::string> absolute(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  std::ranges::transform(paths, std::back_inserter(all), [](const std::string& path) { return absolute(path); });
  return all;
}

/// Throws InputError if an option of this command disagrees with the plan. An option that is not given agrees.
void require_agreement(const AssistantArguments& arguments, const Wishes& planned_for) {
  const auto require_equal = [&](const char* option, bool agrees, const auto& given, const auto& planned) {
    require_input(agrees, option, " is ", given, ", but ", arguments.out, " was begun with ", planned, ": leave ", option,
                  " out to continue it, or choose another --out");
  };
  const auto seconds = wanted_seconds(arguments);
  require_equal(arguments.time.empty() ? "--preset" : "--time", !seconds || *seconds == planned_for.seconds,
                arguments.time.empty() ? arguments.preset : arguments.time, clock_time(planned_for.seconds));
  require_equal("--corpus", arguments.corpus.empty() || absolute(arguments.corpus) == planned_for.corpus, names_of(arguments.corpus),
                planned_for.corpus.empty() ? "no corpus" : names_of(planned_for.corpus));
  for (const auto& [option, given, planned] : {std::tuple{"--chats", absolute(arguments.chats), planned_for.chats},
                                               {"--pairs", absolute(arguments.pairs), planned_for.pairs},
                                               {"--from", absolute(arguments.from), planned_for.from},
                                               {"--name", arguments.name, planned_for.name}}) {
    require_equal(option, given.empty() || given == planned, given, planned.empty() ? "none" : planned);
  }
}

/// Runs a stage as `dikkat train`, `resume` and `eval --tasks` do.
class StageCommands : public assistant::StageRunner {
 public:
  bool train(const assistant::StageRun& run, const fs::path& out) override {
    TrainArguments arguments;
    arguments.run = {.edits = run.edits, .corpus = run.corpus, .init_from = run.init_from};
    arguments.out = out.string();
    arguments.is_stage = true;
    return train_command(arguments) == 0;
  }
  bool resume(const fs::path& run) override { return resume_command({.run_directory = run.string(), .is_stage = true}) == 0; }
  std::optional<std::string> ask(const fs::path& model, const fs::path& tasks) override {
    stop_in_order();
    const auto answers = ask_tasks(load_trained_model(model.string()), read_questions(tasks.string()));
    return answers ? std::optional(json_text(object_of(*answers))) : std::nullopt;
  }
};

/// Plans a new assistant. Measures the machine by some steps on the texts, and writes nothing.
Plan plan_assistant(const Wishes& wishes, Clock::time_point start) {
  AssistantMessages messages;
  const assistant::Facts facts = read_facts(wishes, shipped_data);
  assistant::MachineMeasure measure(facts.precision, start, messages);
  assistant::PlanOutline outline = make_plan(wishes, facts, measure);
  if (const std::string remark = remark_on_small_text(outline.figures); !remark.empty()) {
    warn(remark);
  }
  outline.plan.table = plan_table(outline);
  return outline.plan;
}

/// Runs the stages that are left, and then writes the report. Prints the results, and the time since `start`. Returns the exit code.
int run_assistant(const fs::path& folder, bool json, Clock::time_point start) {
  assistant::Stages stages(folder);
  StageCommands commands;
  AssistantMessages messages;
  const std::string out = folder.string();
  if (!stages.run(commands, messages, shipped_data)) {
    print_message(concat("continue with: dikkat resume ", out));
    return 128 + stop_signal();
  }
  const Plan& plan = stages.plan();
  write_assistant_report(folder, plan);
  print_message(report_text(plan));
  print_message(
      fmt::format("this command took {}; the time given was {}\n", clock_time(seconds_since(start)), clock_time(plan.wishes.seconds)));
  print_message(for_terminal(concat("next: dikkat chat ", out, "\n      dikkat serve ", out)));
  print_result((json ? plan_as_json(plan) : out) + '\n');
  flush_results();
  return 0;
}

int print_plan(const Plan& plan, bool json) {
  print_result(json ? plan_as_json(plan) + '\n' : plan.table);
  flush_results();
  return 0;
}

int assistant_command(const AssistantArguments& arguments) {
  const auto start = Clock::now();
  require_one_process("dikkat assistant");
  start_threads();
  require_input(!arguments.out.empty() || arguments.plan_only, "--out is missing: give the folder of the assistant");
  const fs::path folder = arguments.out;
  if (!arguments.out.empty() && is_assistant(folder)) {
    const Plan plan = assistant::read_plan(folder);
    require_agreement(arguments, plan.wishes);
    return arguments.plan_only ? print_plan(plan, arguments.json) : run_assistant(folder, arguments.json, start);
  }
  // A new assistant.
  const auto is_of_a_start = [](const fs::path& path) {
    const std::string name = path.filename().string();
    return name == kLockName || name.starts_with(concat(kTemporaryPrefix, assistant::plan_file("").string(), '-'));
  };
  require_input(arguments.out.empty() || !is_there(folder) || (is_folder(folder) && std::ranges::all_of(paths_in(folder), is_of_a_start)),
                arguments.out, " is not empty and is not the folder of an assistant: choose another --out");
  require_input(std::ranges::find(arguments.corpus, kStandardInput) == arguments.corpus.end(),
                "--corpus is standard input, which cannot be read again: give files or folders");
  require_input(arguments.from.empty() != arguments.corpus.empty(),
                "give --corpus to begin with texts, or --from to begin with a trained model, and not both");
  require_input(std::ranges::none_of(arguments.name, [](unsigned char c) { return c < ' ' || c == 0x7f; }),
                "--name has a line break or another control character, expected a name on one line");
  const auto seconds = wanted_seconds(arguments);
  require_input(seconds.has_value(), "the time is missing: give --time, such as 3h, or --preset tiny, student or small");
  const Plan plan = plan_assistant({.corpus = absolute(arguments.corpus),
                                    .chats = absolute(arguments.chats),
                                    .pairs = absolute(arguments.pairs),
                                    .from = absolute(arguments.from),
                                    .name = arguments.name.empty() ? kUsualName : arguments.name,
                                    .seconds = *seconds},
                                   start);
  if (arguments.plan_only) {
    return print_plan(plan, arguments.json);
  }
  make_folders(folder);
  {
    const FolderLock lock = FolderLock::take(folder);
    require_input(!is_assistant(folder), arguments.out, " has just been begun by another process: choose another --out");
    assistant::write_plan(folder, plan);
  }
  return run_assistant(folder, arguments.json, start);
}

}  // namespace

int resume_assistant(const ResumeArguments& arguments) {
  const auto start = Clock::now();
  require_one_process("dikkat assistant");
  start_threads();
  require_input(arguments.set.empty() && arguments.base.empty() && !arguments.latest_good && !arguments.profile, arguments.run_directory,
                " is the folder of `dikkat assistant`, whose plan is fixed: leave out --set, --base, --latest-good and --profile, or "
                "resume one of its "
                "runs, such as ",
                arguments.run_directory, "/chats");
  return run_assistant(arguments.run_directory, false, start);
}

void add_assistant(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat assistant --corpus my-texts/ --preset tiny --out runs/mine
  dikkat assistant --corpus books/ --chats chats.jsonl --pairs pairs.jsonl --time 3h --out runs/mine
  dikkat assistant --from SmolLM2-135M --chats chats.jsonl --time 1h --out runs/mine
  dikkat assistant --corpus my-texts/ --time 3h --plan     # prints what would happen
The same command, or `dikkat resume runs/mine`, continues after an interruption, to the same bits.)";
  const auto a = std::make_shared<AssistantArguments>();
  Command command = program.add("assistant", "Train an assistant within a time: a tokenizer, a model of your texts, chats, preferences",
                                kExamples, [a] { return assistant_command(*a); });
  command.texts("--corpus", a->corpus, "PATH", "Text files and folders to learn from");
  command.text("--from", a->from, "MODEL", "A trained model to begin with, instead of texts");
  command.text("--chats", a->chats, "FILE.jsonl", "Conversations to learn; by default a small set that comes with dikkat");
  command.text("--pairs", a->pairs, "FILE.jsonl", "Pairs of answers, or judged answers, to learn preferences from");
  command.text("--time", a->time, "TIME", "Time for everything, such as 90s, 40m or 3h");
  command.text("--preset", a->preset, "NAME", "A time by name: tiny (5 minutes), student (1 hour) or small (8 hours)");
  command.text("--name", a->name, "NAME", "The assistant's name in the conversations that come with dikkat; by default Dikkat");
  command.text("--out", a->out, "DIR", "Folder of the assistant: a run for each stage, the report and the model");
  command.flag("--plan", a->plan_only, "Measure this machine and print what would happen; write nothing");
  command.flag("--json", a->json, "Print the plan, with the results if there are any, as one JSON object");
}

}  // namespace dikkat
