#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands.h"
#include "train/cli/commands/train_command.h"
#include "train/cli/json_output.h"
#include "train/cli/progress.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/data/corpus_files.h"
#include "train/run/assistant_plan.h"
#include "train/run/machine_rate.h"
#include "train/run/pace.h"
#include "train/run/precision.h"
#include "train/run/trainer.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct AssistantArguments {
  std::vector<std::string> corpus;
  std::string chats, pairs, time, preset, from, out;
  std::string name = "Dikkat";
  bool plan_only = false;
  bool json = false;
};

// Shares of the time. The rest of it is for reading, evaluations and saving.
constexpr double kPretrainShare = 0.82, kChatsShare = 0.08, kPreferencesShare = 0.04;
constexpr double kUsefulShare = 0.4;  // of the machine's products that a step of a small model reaches, for the choice of a size
constexpr double kBytesPerToken = 3;
constexpr double kLeastSeconds = 10;

struct Preset {
  const char* name;
  double seconds;
};
constexpr Preset kPresets[] = {{"tiny", 300}, {"student", 3600}, {"small", 8 * 3600}};

/// Returns the seconds of "90s", "40m", "3h" or "1h30m".
double seconds_of(const std::string& text) {
  double all = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_valid = at != end;
  while (is_valid && at != end) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    is_valid = error == std::errc() && next != end && number >= 0 && std::string_view("smh").find(*next) != std::string_view::npos;
    if (is_valid) {
      all += number * (*next == 'h' ? 3600 : *next == 'm' ? 60 : 1);
      at = next + 1;
    }
  }
  require_input(is_valid && all <= 1e7, "--time is ", text, ", expected a time such as 90s, 40m, 3h or 1h30m");
  return all;
}

double seconds_of(const AssistantArguments& arguments) {
  require_input(arguments.time.empty() || arguments.preset.empty(), "--time and --preset both set the time; give only one of them");
  if (!arguments.time.empty()) {
    return seconds_of(arguments.time);
  }
  require_input(!arguments.preset.empty(), "the time is missing: give --time (such as 3h), or --preset tiny, student or small");
  const auto preset = std::ranges::find(kPresets, arguments.preset, &Preset::name);
  require_input(preset != std::end(kPresets), "--preset is ", arguments.preset,
                ", expected tiny (5 minutes), student (1 hour) or small (8 hours)");
  return preset->seconds;
}

/// Returns the size of the texts. Compressed ones count three times, since they are about a third as long as the text.
index bytes_of(std::span<const std::string> corpus) {
  index bytes = 0;
  for (const CorpusFile& file : find_corpus_files(corpus)) {
    const bool is_compressed = file.name.ends_with(".gz") || file.name.ends_with(".zst");
    bytes += static_cast<index>(fs::file_size(file.path)) * (is_compressed ? 3 : 1);
  }
  return bytes;
}

/// Returns the file with the project's own chats: installed, or in the repository.
fs::path own_chats() {
  const fs::path program = program_file().parent_path();
  for (const char* place : {"../share/dikkat/data/assistant-chats.jsonl", "../../data/assistant-chats.jsonl"}) {
    if (const fs::path file = (program / place).lexically_normal(); is_there(file)) {
      return file;
    }
  }
  fail_input("the project's chats (data/assistant-chats.jsonl) are not beside the program: give --chats FILE");
}

/// Writes the project's chats into the folder, with the assistant's name. Returns the file.
fs::path named_chats(const fs::path& folder, const std::string& name) {
  std::string text = read_bytes(own_chats());
  const std::string quoted = json_text(Json(name)), inner = quoted.substr(1, quoted.size() - 2);
  constexpr std::string_view kPlace = "{name}";
  for (std::size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at + inner.size())) {
    text.replace(at, kPlace.size(), inner);
  }
  replace_file(folder / "chats.jsonl", text);
  return folder / "chats.jsonl";
}

/// The settings that the plan depends on, as text: another command may not continue it.
std::string command_of(const AssistantArguments& arguments) {
  std::vector<std::string> corpus;
  std::ranges::transform(arguments.corpus, std::back_inserter(corpus), [](const std::string& path) { return fs::absolute(path).string(); });
  return json_text(Json{{"corpus", corpus},
                        {"chats", arguments.chats},
                        {"pairs", arguments.pairs},
                        {"time", arguments.time},
                        {"preset", arguments.preset},
                        {"from", arguments.from},
                        {"name", arguments.name}});
}

template <class T>
void set(std::vector<std::string>& settings, const char* key, const T& value) {
  settings.push_back(fmt::format("{}={}", key, value));
}

/// The recipe of english-books.toml, for another size.
std::vector<std::string> pretrain_settings(const AssistantSize& size, index vocab_size) {
  std::vector<std::string> all = {"model.dropout=0.1",        "model.bias=false",         "model.positions=rope",  "model.qk_norm=true",
                                  "tokenizer.kind=bpe",       "optim.kind=muon",          "optim.schedule=wsd",    "optim.muon_coefficients=turbo",
                                  "optim.muon_normalize=true", "optim.learning_rate=8e-3", "optim.decay_share=0.8", "optim.min_lr_share=0",
                                  "optim.beta1=0.8",          "optim.beta2=0.95",         "train.precision=auto",  "train.eval_tokens=65536"};
  set(all, "model.n_layer", size.n_layer);
  set(all, "model.n_embd", size.n_embd);
  set(all, "model.n_head", size.n_head);
  set(all, "model.block_size", size.block_size);
  set(all, "tokenizer.vocab_size", vocab_size);
  set(all, "train.batch_size", size.batch_size);
  return all;
}

void set_steps(std::vector<std::string>& settings, index steps) {
  set(settings, "train.max_steps", steps);
  set(settings, "optim.warmup_steps", std::max<index>(1, steps / 20));
  set(settings, "train.eval_interval", std::max<index>(1, ceil_div(steps, 8)));
  set(settings, "train.checkpoint_interval", std::max<index>(1, ceil_div(steps, 20)));
}

/// Plans pretraining: chooses a size, measures its step here, and adds the stage. Returns a row of the table.
std::string plan_pretraining(const AssistantArguments& arguments, double seconds, const fs::path& folder, AssistantPlan& plan) {
  const index bytes = bytes_of(arguments.corpus), vocab_size = vocabulary_for(bytes);
  const double rate = kUsefulShare * gemm_rate(DType::f32);
  const AssistantSize size = size_for(kPretrainShare * seconds, rate, vocab_size, static_cast<index>(static_cast<double>(bytes) / kBytesPerToken));
  std::vector<std::string> settings = pretrain_settings(size, vocab_size);
  const double tokens_of_step = static_cast<double>(size.batch_size * size.block_size);
  const double guess = std::max(8.0, kPretrainShare * seconds * rate / size.flops_per_token(vocab_size) / tokens_of_step);
  WantedRun wanted{.config = {}, .set = settings, .corpus = arguments.corpus};
  set_steps(wanted.set, static_cast<index>(guess));
  const auto start = std::chrono::steady_clock::now();
  double seconds_of_guess = 0;
  {
    Config config = configuration_of(wanted);
    announce_corpus(config.data.training_paths());
    LoadingLine line;
    Trainer trainer = Trainer::plan(std::move(config), std::ref(line));
    const double loading = seconds_since(start);
    seconds_of_guess = pace_of(trainer, run_trial(trainer, 20)).seconds;
    seconds -= loading;  // the stage reads the text again
  }
  seconds -= seconds_since(start);
  const double budget = kPretrainShare * seconds;
  require_input(budget > 0, "the time is too short for this corpus: reading it takes a large part of it; give a longer --time");
  const auto steps = static_cast<index>(std::max(8.0, std::floor(static_cast<double>(static_cast<index>(guess)) * budget / seconds_of_guess)));
  set_steps(settings, steps);
  const double tokens = static_cast<double>(steps) * tokens_of_step;
  plan.stages.push_back({.name = "pretrain",
                         .recipe = "",
                         .data = "",
                         .from = "",
                         .settings = settings,
                         .epochs = 0,
                         .seconds = budget});
  (void)folder;
  return fmt::format("  pretrain     {:>9}  {} layers x {}, {} pieces, {} parameters; {} steps, {} tokens ({:.1f} per parameter)\n", clock_time(budget),
                     size.n_layer, size.n_embd, grouped_digits(vocab_size), grouped_digits(size.parameters(vocab_size)), grouped_digits(steps),
                     grouped_digits(static_cast<index>(tokens)), tokens / static_cast<double>(size.parameters(vocab_size)));
}

/// Makes the plan, and the folder's files that it needs.
AssistantPlan make_plan(const AssistantArguments& arguments, const fs::path& folder) {
  const double seconds = seconds_of(arguments);
  require_input(seconds >= kLeastSeconds, "--time is ", arguments.time, ", expected at least 10s");
  require_input(arguments.from.empty() != arguments.corpus.empty(),
                "give --corpus to begin with a text, or --from to begin with a trained model, and not both");
  for (const std::string* file : {&arguments.chats, &arguments.pairs}) {
    require_input(file->empty() || is_there(*file), *file, ": there is no such file");
  }
  AssistantPlan plan{.command = command_of(arguments), .summary = "stage            time\n", .stages = {}};
  std::string from = arguments.from;
  if (from.empty()) {
    plan.summary += plan_pretraining(arguments, seconds, folder, plan);
    from = (folder / "pretrain").string();
  }
  // Chats: a small set is read ten times, a large one as often as the time allows, at least once.
  const std::string chats = arguments.chats.empty() ? (folder / "chats.jsonl").string() : fs::absolute(arguments.chats).string();
  std::vector<std::string> tuned = {"lora.rank=0", "optim.learning_rate=5e-4", "train.patience=0"};
  plan.stages.push_back({.name = "chats", .recipe = "finetune", .data = chats, .from = from, .settings = tuned, .epochs = 10, .seconds = kChatsShare * seconds});
  plan.summary += fmt::format("  chats        {:>9}  {}, read 10 times\n", concat("<= ", clock_time(kChatsShare * seconds)),
                              arguments.chats.empty() ? concat("the project's chats, as ", arguments.name) : arguments.chats);
  if (!arguments.pairs.empty()) {
    plan.stages.push_back({.name = "preferences",
                           .recipe = "finetune",
                           .data = fs::absolute(arguments.pairs).string(),
                           .from = (folder / "chats").string(),
                           .settings = {"lora.rank=0", "optim.learning_rate=2e-5", "preference.method=auto", "train.batch_size=2"},
                           .epochs = 1,
                           .seconds = kPreferencesShare * seconds});
    plan.summary += fmt::format("  preferences  {:>9}  {}, read once\n", concat("<= ", clock_time(kPreferencesShare * seconds)), arguments.pairs);
  }
  return plan;
}

/// Runs a stage, or the rest of it. Returns the exit code.
int run_stage(const AssistantStage& stage, std::span<const std::string> corpus, const fs::path& folder) {
  const fs::path run = folder / stage.name;
  if (is_there(checkpoint_directory(run)) && !list_checkpoints(run).empty()) {
    return resume_command({.run_directory = run.string()});
  }
  std::error_code none;
  fs::remove_all(run, none);  // a start that was interrupted before the first checkpoint
  TrainArguments arguments;
  arguments.run.config = stage.recipe;
  arguments.run.set = stage.settings;
  arguments.run.init_from = stage.from;
  arguments.run.corpus = stage.data.empty() ? std::vector<std::string>(corpus.begin(), corpus.end()) : std::vector<std::string>{stage.data};
  arguments.out = run.string();
  arguments.length.epochs = stage.epochs;
  arguments.length.fits_step = arguments.length.fits_warmup = arguments.length.fits_evaluations = stage.epochs > 0;
  return train_command(arguments);
}

int assistant_command(const AssistantArguments& arguments) {
  start_threads();
  const fs::path folder = fs::absolute(arguments.out);
  const fs::path file = assistant_file(folder);
  require_input(!is_there(folder) || is_there(file), arguments.out, " exists and is not the folder of an assistant; choose another --out");
  const bool is_new = !is_there(file);
  AssistantPlan plan = is_new ? make_plan(arguments, folder) : read_plan(file);
  require_input(is_new || plan.command == command_of(arguments), arguments.out, " was begun with other options (", plan.command,
                "); repeat them to continue it, or choose another --out");
  print_message(plan.summary);
  if (arguments.plan_only) {
    return 0;
  }
  if (is_new) {
    fs::create_directories(folder);
    if (arguments.chats.empty()) {
      named_chats(folder, arguments.name);
    }
    write_plan(file, plan);
  }
  for (AssistantStage& stage : plan.stages) {
    if (!stage.done) {
      print_message(concat("stage: ", stage.name));
      if (const int code = run_stage(stage, arguments.corpus, folder); code != 0) {
        return code;
      }
      stage.done = true;
      write_plan(file, plan);
    }
  }
  const std::string model = (folder / plan.stages.back().name).string();
  print_message(concat("next: dikkat chat ", model, "\n      dikkat serve ", model));
  print_result(model + '\n');
  flush_results();
  return 0;
}

}  // namespace

void add_assistant(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat assistant --corpus my-texts/ --preset tiny --out runs/mine
  dikkat assistant --corpus books/ --chats chats.jsonl --pairs pairs.jsonl --time 3h --out runs/mine
  dikkat assistant --from SmolLM2-135M --pairs pairs.jsonl --time 1h --out runs/mine
The same command continues a run that was interrupted.)";
  const auto a = std::make_shared<AssistantArguments>();
  Command command = program.add("assistant", "Make an assistant of your own from a folder of texts: pretraining, chats, preferences",
                                kExamples, [a] { return assistant_command(*a); });
  command.texts("--corpus", a->corpus, "PATH", "Text files and folders to learn from");
  command.text("--from", a->from, "MODEL", "A trained model to begin with, instead of --corpus");
  command.text("--chats", a->chats, "FILE", "Conversations to learn to answer from; by default a small set that comes with dikkat");
  command.text("--pairs", a->pairs, "FILE", "Pairs of answers, or judged answers, to learn preferences from");
  command.text("--time", a->time, "TIME", "How long it may take, such as 90s, 40m, 3h or 1h30m");
  command.text("--preset", a->preset, "NAME", "A time by name: tiny (5 minutes), student (1 hour) or small (8 hours)");
  command.text("--name", a->name, "NAME", "The assistant's name, in the chats that come with dikkat");
  command.text("--out", a->out, "DIR", "Folder of the runs").required();
  command.flag("--plan-only", a->plan_only, "Print what would happen, and write nothing");
}

}  // namespace dikkat
