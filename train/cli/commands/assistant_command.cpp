#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands.h"
#include "train/cli/commands/train_command.h"
#include "train/cli/json_output.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/config/resolve.h"
#include "train/data/corpus_files.h"
#include "train/run/assistant_plan.h"
#include "train/run/machine_rate.h"
#include "train/run/precision.h"
#include "train/run/trainer.h"
#include "train/run/trial.h"
#include "train/system/checked_file.h"
#include "train/system/write_file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Record = nlohmann::ordered_json;

constexpr const char* kRecord = "assistant.json";

struct AssistantArguments {
  std::vector<std::string> corpus;
  std::string chats, pairs, out, preset, time, name = "Dikkat";
  bool plan_only = false, json = false;
};

std::string whole_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  require_input(in.good(), path.string(), " cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
  write_file(path, static_cast<index>(text.size()), [&](ByteSink& sink) { sink.put(std::as_bytes(std::span(text))); });
}

double wanted_seconds(const AssistantArguments& a) {
  require_input(a.time.empty() || a.preset.empty(), "--time and --preset both set the time; give only one of them");
  if (!a.time.empty()) {
    return seconds_of(a.time);
  }
  require_input(a.preset.empty() || a.preset == "tiny" || a.preset == "student" || a.preset == "small", "--preset is ", a.preset,
                ", expected tiny (5 minutes), student (1 hour) or small (10 hours)");
  return a.preset == "small" ? 36000 : a.preset == "student" ? 3600 : 300;
}

index corpus_bytes(const std::vector<std::string>& corpus) {
  std::uintmax_t bytes = 0;
  for (const CorpusFile& file : find_corpus_files(corpus)) {
    bytes += fs::file_size(file.path);
  }
  return static_cast<index>(bytes);
}

/// The settings of both stages that train all weights.
std::vector<std::string> common_settings(index steps) {
  return {concat("train.max_steps=", steps), concat("train.eval_interval=", std::max<index>(1, steps / 5)),
          concat("train.checkpoint_interval=", std::max<index>(1, steps / 20)), concat("optim.warmup_steps=", steps / 20),
          "train.patience=0"};
}

std::vector<std::string> pretrain_settings(const AssistantPlan& plan, index steps) {
  std::vector<std::string> set = common_settings(steps);
  for (const std::string& setting :
       {concat("model.n_layer=", plan.n_layer), concat("model.n_head=", plan.n_head), concat("model.n_embd=", plan.n_embd),
        concat("model.block_size=", plan.block_size), concat("tokenizer.vocab_size=", plan.vocab_size),
        concat("train.batch_size=", plan.batch_size), std::string("data.validation=[]"), std::string("train.eval_tokens=65536")}) {
    set.push_back(setting);
  }
  return set;
}

/// Measures a step of the planned model on this machine.
double seconds_of_step(const WantedRun& run) {
  Trainer trainer = Trainer::plan(configuration_of(run));
  const Trial trial = run_trial(trainer, 8);
  std::vector<double> seconds;
  for (const StepReport& step : trial.steps) {
    seconds.push_back(step.seconds);
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

/// Decides all steps. Nothing later depends on the clock.
Record make_record(const AssistantArguments& a) {
  require_input(!a.corpus.empty(), "--corpus is missing: give texts to learn from");
  std::vector<std::string> corpus;
  for (const std::string& path : a.corpus) {
    corpus.push_back(fs::absolute(path).string());
  }
  const double seconds = wanted_seconds(a);
  start_threads();
  const AssistantPlan plan = plan_assistant({.seconds = seconds,
                                             .bytes = corpus_bytes(corpus),
                                             .flops_per_second = 0.4 * gemm_rate(DType::f32),
                                             .has_preferences = !a.pairs.empty()});
  const WantedRun trial{.config = "english-books", .set = pretrain_settings(plan, 100), .corpus = corpus};
  const double step = seconds_of_step(trial);
  const index pretrain = steps_within(plan.pretrain_seconds, step);
  // A step of chats has half as many windows and a larger share of fixed work. Preferences are taken to be as slow; this is not measured.
  const index chats = steps_within(plan.chats_seconds, 0.65 * step);
  Record record{{"version", 1}, {"seconds", seconds}, {"name", a.name}, {"step_seconds", step}, {"parameters", plan.parameters}};
  record["stages"].push_back(
      {{"name", "pretrain"}, {"config", "english-books"}, {"corpus", corpus}, {"from", ""}, {"steps", pretrain},
       {"set", pretrain_settings(plan, pretrain)}});
  std::vector<std::string> set = common_settings(chats);
  set.insert(set.end(), {"lora.rank=0", "optim.learning_rate=1e-3", "train.batch_size=8", "train.gradient_accumulation_steps=1"});
  record["stages"].push_back({{"name", "chats"}, {"config", "finetune"},
                              {"corpus", {a.chats.empty() ? "" : fs::absolute(a.chats).string()}}, {"from", "pretrain"}, {"steps", chats},
                              {"set", set}});
  if (!a.pairs.empty()) {
    const index pairs = steps_within(plan.preferences_seconds, 0.65 * step);
    set = common_settings(pairs);
    set.insert(set.end(), {"lora.rank=0", "optim.learning_rate=1e-5", "preference.method=auto", "train.batch_size=2",
                           "train.gradient_accumulation_steps=1"});
    record["stages"].push_back({{"name", "preferences"}, {"config", "finetune"}, {"corpus", {fs::absolute(a.pairs).string()}},
                                {"from", "chats"}, {"steps", pairs}, {"set", set}});
  }
  return record;
}

void print_record(const Record& record) {
  print_message(fmt::format("{:<12} {:>10}  {}", "stage", "steps", "texts"));
  for (const Record& stage : record["stages"]) {
    const auto corpus = stage["corpus"].get<std::vector<std::string>>();
    print_message(fmt::format("{:<12} {:>10}  {}", stage["name"].get<std::string>(), stage["steps"].get<index>(),
                              corpus[0].empty() ? "the chats that come with dikkat" : corpus[0]));
  }
}

/// Writes the chats that come with the program, with the assistant's name.
std::string own_chats(const fs::path& out, const std::string& name) {
  const fs::path path = out / "chats.jsonl";
  std::string text = whole_file(find_config("quickstart").parent_path() / "../data/assistant-chats.jsonl");
  std::string quoted = json_text(Record(name));
  quoted = quoted.substr(1, quoted.size() - 2);
  constexpr std::string_view kMark = "{name}";
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos; at += quoted.size()) {
    text.replace(at, kMark.size(), quoted);
  }
  write_text(path, text);
  return fs::absolute(path).string();
}

/// Runs a stage, or continues it. Returns the exit code.
int run_stage(const Record& stage, const fs::path& out, const std::string& name) {
  const fs::path folder = out / stage["name"].get<std::string>();
  if (fs::exists(folder) && !list_checkpoints(folder).empty()) {
    return resume_command({.run_directory = folder.string()});
  }
  fs::remove_all(folder);  // stopped before its first checkpoint
  TrainArguments arguments;
  arguments.out = folder.string();
  arguments.run.config = stage["config"].get<std::string>();
  arguments.run.set = stage["set"].get<std::vector<std::string>>();
  arguments.run.corpus = stage["corpus"].get<std::vector<std::string>>();
  if (arguments.run.corpus[0].empty()) {
    arguments.run.corpus = {own_chats(out, name)};
  }
  if (const auto from = stage["from"].get<std::string>(); !from.empty()) {
    arguments.run.init_from = (out / from).string();
  }
  return train_command(arguments);
}

int assistant_command(const AssistantArguments& a) {
  require_input(!a.out.empty() || a.plan_only, "--out is missing: give the folder of the assistant");
  const fs::path out = a.out;
  Record record;
  if (!a.out.empty() && fs::exists(out / kRecord)) {
    record = parse_json<Record>(whole_file(out / kRecord));
  } else {
    require_input(a.out.empty() || !fs::exists(out) || (fs::is_directory(out) && fs::is_empty(out)), "--out ", a.out,
                  " exists and is not an assistant's folder: give a new or empty folder");
    for (const std::string& path : {a.chats, a.pairs}) {
      require_input(path.empty() || fs::exists(path), path, " does not exist (--chats, --pairs)");
    }
    record = make_record(a);
    if (!a.plan_only) {
      fs::create_directories(out);
      write_text(out / kRecord, record.dump(2) + '\n');
    }
  }
  print_record(record);
  if (a.json) {
    print_json(record);
  }
  if (a.plan_only) {
    flush_results();
    return 0;
  }
  std::string last;
  for (const Record& stage : record["stages"]) {
    last = stage["name"].get<std::string>();
    print_message("stage " + last);
    if (const int code = run_stage(stage, out, record["name"].get<std::string>()); code != 0) {
      return code;
    }
  }
  print_message(concat("next: dikkat chat ", (out / last).string()));
  return 0;
}

}  // namespace

void add_assistant(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat assistant --corpus texts/ --time 3h --out runs/mine
  dikkat assistant --corpus texts/ --preset student --plan-only
The same command with the same --out continues after an interruption, to the same bits.)";
  const auto a = std::make_shared<AssistantArguments>();
  Command command = program.add("assistant", "Train an assistant from a folder of texts, within a time", kExamples,
                                [a] { return assistant_command(*a); });
  command.texts("--corpus", a->corpus, "PATH", "Texts to learn from: files and folders");
  command.text("--chats", a->chats, "FILE", "Conversations to learn from; by default a small set that comes with dikkat");
  command.text("--pairs", a->pairs, "FILE", "Preferences to learn from");
  command.text("--time", a->time, "TIME", "Time for all stages, such as 90s, 5m or 3h");
  command.text("--preset", a->preset, "NAME", "A time by name: tiny (5 minutes, the default), student (1 hour) or small (10 hours)");
  command.text("--name", a->name, "TEXT", "The assistant's name in the chats that come with dikkat");
  command.text("--out", a->out, "DIR", "Folder of the assistant, with one run for each stage");
  command.flag("--plan-only", a->plan_only, "Print the stages and their steps, and train nothing");
  command.flag("--json", a->json, "Print the plan as JSON");
}

}  // namespace dikkat
