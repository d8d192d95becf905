#include "train/cli/commands/assistant_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/lock.h"
#include "train/cli/assistant_chats.h"
#include "train/cli/assistant_report.h"
#include "train/cli/commands.h"
#include "train/cli/eval_tasks.h"
#include "train/cli/json_output.h"
#include "train/cli/progress.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/data/corpus_files.h"
#include "train/data/preferences.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"
#include "train/parallel/launcher.h"
#include "train/run/assistant_plan.h"
#include "train/run/machine_rate.h"
#include "train/run/precision.h"
#include "train/run/trainer.h"
#include "train/run/trial.h"
#include "train/system/folder.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct AssistantArguments {
  std::vector<std::string> corpus;
  std::string chats, pairs, time, preset, from, name, out;
  bool plan_only = false, json = false;
};

constexpr index kEvaluations = 8;  // of a stage
constexpr const char* kUsualName = "Dikkat";
// Files in the folder of an assistant, which are made from its chats.
constexpr const char* kLearntChats = "chats.jsonl";
constexpr const char* kHeldOutChats = "held-out.jsonl";
constexpr const char* kTasks = "tasks.jsonl";

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

/// Returns the size of the texts. Compressed ones count three times, since text is about three times as long.
index bytes_of(std::span<const std::string> corpus) {
  index bytes = 0;
  for (const CorpusFile& file : find_corpus_files(corpus)) {
    std::error_code unknown;
    const auto size = fs::file_size(file.path, unknown);
    const bool is_compressed = file.name.ends_with(".gz") || file.name.ends_with(".zst");
    bytes += unknown ? 0 : static_cast<index>(size) * (is_compressed ? 3 : 1);
  }
  return bytes;
}

template <class T>
void set(std::vector<std::string>& settings, const char* key, const T& value) {
  settings.push_back(fmt::format("{}={}", key, value));
}

/// Sets the length of a stage, and what follows from it. `step_seconds` is the time of one step.
void set_steps(std::vector<std::string>& settings, index steps, double step_seconds) {
  constexpr double kSecondsOfSaves = 300;
  const auto of_time = static_cast<index>(std::clamp(kSecondsOfSaves / step_seconds, 1.0, 1e9));
  set(settings, "train.max_steps", steps);
  set(settings, "optim.warmup_steps", std::max<index>(1, steps / 20));
  set(settings, "train.eval_interval", ceil_div(steps, kEvaluations));
  set(settings, "train.checkpoint_interval", std::min(of_time, ceil_div(steps, 20)));
}

/// The recipe of configs/english-books.toml, for another size, and in Qwen3's layout as in configs/quickstart.toml, so that other programs
/// can read the model. A text that is read often gets the weight decay of docs/RECIPES.md.
std::vector<std::string> pretrain_settings(const AssistantSize& size, index vocab_size, double epochs, const std::string& precision) {
  constexpr double kFewEpochs = 2, kManyEpochs = 4;
  std::vector<std::string> all = {
      "model.bias=false",       "model.norm=rms_norm",           "model.norm_eps=1e-6",       "model.activation=silu",
      "model.gated=true",       "model.positions=rope",          "model.qk_norm=true",        "tokenizer.kind=bpe",
      "optim.kind=muon",        "optim.muon_coefficients=turbo", "optim.muon_normalize=true", "optim.schedule=wsd",
      "optim.decay_share=0.8",  "optim.min_lr_share=0",          "optim.beta1=0.8",           "optim.beta2=0.95",
      "train.eval_tokens=65536"};
  set(all, "model.n_layer", size.n_layer);
  set(all, "model.n_embd", size.n_embd);
  set(all, "model.n_head", size.n_head);
  set(all, "model.block_size", size.block_size);
  set(all, "model.dropout", epochs > kFewEpochs ? 0.1 : 0.0);
  set(all, "tokenizer.vocab_size", vocab_size);
  set(all, "optim.learning_rate", size.n_embd < 256 ? 6e-3 : 8e-3);
  set(all, "optim.weight_decay", epochs > kManyEpochs ? 0.8 : 0.1);
  set(all, "train.batch_size", size.batch_size);
  set(all, "train.precision", precision);
  return all;
}

/// The settings that chats and preferences share.
std::vector<std::string> tuning_settings(const std::string& precision) {
  std::vector<std::string> all = {"optim.schedule=linear", "optim.min_lr=0", "optim.weight_decay=0", "optim.beta2=0.99",
                                  "train.eval_tokens=65536"};
  set(all, "train.precision", precision);
  return all;
}

/// What a trial of a stage measured.
struct Measured {
  double step_seconds = 0, evaluation_seconds = 0;
  double loading_seconds = 0;  // to read the text, and to train the tokenizer
  index epoch_windows = 0, tokens = 0, vocab_size = 0;
  double bytes_per_token = 1;
};

/// Prepares a stage and makes its first steps, without writing anything.
Measured measure(const WantedRun& wanted, const std::string& sample_text) {
  constexpr index kSteps = 30;
  const auto start = Clock::now();
  Config config = configuration_of(wanted);
  announce_corpus(config.data.training_paths());
  LoadingLine line;
  Trainer trainer = Trainer::plan(std::move(config), std::ref(line));
  Measured measured{.loading_seconds = seconds_since(start),
                    .epoch_windows = trainer.loader().epoch_size(),
                    .tokens = trainer.data().train_tokens(),
                    .vocab_size = trainer.data().tokenizer->vocab_size()};
  const auto tokens = static_cast<double>(trainer.data().tokenizer->encode(sample_text).size());
  measured.bytes_per_token = tokens > 0 ? static_cast<double>(sample_text.size()) / tokens : 1;
  const Trial trial = run_trial(trainer, kSteps);
  // The lower quartile of the steps, since other programs can only make a step slower; and saves, which a trial does not have.
  constexpr double kSaves = 1.05;
  std::vector<double> seconds;
  std::ranges::transform(trial.steps, std::back_inserter(seconds), &StepReport::seconds);
  const auto quartile = seconds.begin() + std::ssize(seconds) / 4;
  std::ranges::nth_element(seconds, quartile);
  measured.step_seconds = kSaves * *quartile;
  measured.evaluation_seconds = trial.evaluation_seconds;
  return measured;
}

/// Makes the plan of a new assistant, step by step. It writes nothing.
class Planner {
 public:
  Planner(const AssistantArguments& arguments, double seconds) : arguments_(arguments), seconds_(seconds) {
    plan_.corpus = absolute(arguments.corpus);
    plan_.chats = absolute(arguments.chats);
    plan_.pairs = absolute(arguments.pairs);
    plan_.from = absolute(arguments.from);
    plan_.name = arguments.name.empty() ? kUsualName : arguments.name;
    plan_.seconds = seconds;
  }

  AssistantPlan make() {
    Config config;
    config.train.precision = Precision::auto_;
    settle_precision(config);
    precision_ = name_of(config.train.precision);
    if (!plan_.pairs.empty()) {
      pairs_ = read_preferences(std::vector{plan_.pairs});
    }
    if (plan_.from.empty()) {
      plan_new_model(operand_type(config.train));
    } else {
      plan_later_stages();
    }
    add_row("in all", seconds_since(start_) + expected_, concat("of the ", clock_time(seconds_), " that were given"));
    return plan_;
  }

 private:
  static constexpr double kEndSeconds = 1, kEndShare = 0.02;  // the report, and saving

  bool has_chats() const { return plan_.from.empty() || !plan_.chats.empty() || plan_.pairs.empty(); }

  void read_chats(index context) {
    constexpr index kMarkup = 32;  // tokens of a template around a question and its answer
    plan_.longest_question = context - kMarkup;
    chats_ = read_assistant_chats(plan_.chats, plan_.name, plan_.longest_question);
  }

  /// Returns the time of asking the held-out questions so often. `token_seconds` is the time of training on a token. A question takes about
  /// as long as 700 of them, for models of one and of 56 million parameters.
  double time_of_questions(double token_seconds, index askings) const {
    constexpr double kTokensOfQuestion = 700;
    return kTokensOfQuestion * token_seconds * static_cast<double>(chats_.tasks_count * askings);
  }

  void add_questions(double seconds) {
    if (chats_.tasks_count > 0) {
      add_row("questions", seconds, fmt::format("{} held-out conversations, asked after each stage", chats_.tasks_count));
    }
  }

  /// Returns what is left of the time for training.
  double time_left(double others) const {
    const double left = seconds_ - seconds_since(start_) - others - kEndSeconds - kEndShare * seconds_;
    require_input(left > 0, "--time is ", clock_time(seconds_), ", but reading the texts and evaluating takes ",
                  clock_time(seconds_ - left), ": give a longer --time");
    return left;
  }

  void plan_new_model(DType operands) {
    constexpr double kPretrainShare = 0.8, kUsefulShare = 0.4;  // of the machine's rate that training a small model reaches
    constexpr double kBytesPerToken = 3, kPreferenceCost = 1.45, kReferenceCost = 0.35;
    constexpr index kLeastBytes = 10'000;
    const index bytes = bytes_of(plan_.corpus), vocab_size = vocabulary_for(bytes);
    require_input(bytes >= kLeastBytes, "--corpus has ", grouped_digits(bytes), " bytes, expected at least ", grouped_digits(kLeastBytes),
                  " (some megabytes make a good model): add texts, or begin with a trained model (--from)");
    const double pretrain = kPretrainShare * seconds_;
    double rate = kUsefulShare * gemm_rate(operands);
    // Choose a size by the machine's rate, measure it, and choose again if its own rate allows a larger model or only a smaller one.
    AssistantSize size = size_for(pretrain, rate, vocab_size, bytes);
    std::vector<std::string> settings;
    Measured measured;
    double step_tokens = 0;
    for (bool is_last = false;; is_last = true) {
      read_chats(size.block_size);
      step_tokens = static_cast<double>(size.batch_size * size.block_size);
      const double flops = size.flops_per_token(vocab_size) * step_tokens;
      const double guess = std::max(8.0, pretrain * rate / flops);
      settings = pretrain_settings(size, vocab_size, guess * step_tokens * kBytesPerToken / static_cast<double>(bytes), precision_);
      WantedRun wanted{.set = settings, .corpus = plan_.corpus};
      set_steps(wanted.set, static_cast<index>(guess), 1);
      measured = measure(wanted, chats_.learnt);
      rate = flops / measured.step_seconds;
      const AssistantSize better = size_for(pretrain, rate, vocab_size, bytes);
      if (is_last || better == size) {
        break;
      }
      size = better;
    }
    // Chats have the same windows, so their steps take as long. Packing leaves some padding.
    constexpr double kPadding = 1.15, kMarkup = 6;
    const double chat_tokens =
        kPadding * (static_cast<double>(chats_.bytes) / measured.bytes_per_token + kMarkup * static_cast<double>(chats_.messages));
    const StageCost chats{.step_seconds = measured.step_seconds, .epoch_steps = chat_tokens / step_tokens};
    StageCost preferences;
    const index pair_rows = std::max<index>(1, size.batch_size / 4);  // a row has two windows
    if (!plan_.pairs.empty()) {
      const double share = 2 * static_cast<double>(pair_rows) / static_cast<double>(size.batch_size);
      preferences = {.step_seconds = measured.step_seconds * share * (kPreferenceCost + kReferenceCost),
                     .epoch_steps = static_cast<double>(pairs_.bytes) / measured.bytes_per_token / (step_tokens * share)};
    }
    const double evaluation = measured.evaluation_seconds * (kEvaluations + 1);
    const double questions = time_of_questions(measured.step_seconds / step_tokens, plan_.pairs.empty() ? 2 : 3);
    const StageSteps steps = share_time(time_left(measured.loading_seconds + evaluation + questions),
                                        {.step_seconds = measured.step_seconds}, chats, preferences);

    // The stages, and the table.
    set_steps(settings, steps.pretrain, measured.step_seconds);
    const double tokens = static_cast<double>(steps.pretrain) * step_tokens, epochs = tokens / static_cast<double>(measured.tokens);
    const auto parameters = static_cast<double>(size.parameters(measured.vocab_size));
    add_row("tokenizer", measured.loading_seconds,
            fmt::format("{} word pieces from {} bytes", grouped_digits(measured.vocab_size), grouped_digits(bytes)));
    add_stage("pretrain", plan_.corpus, "", settings, steps.pretrain, measured.step_seconds, evaluation,
              fmt::format("{} layers x {}, {} parameters; {} steps, {} tokens ({:.1f} for each parameter); the text is read {}",
                          size.n_layer, size.n_embd, short_count(static_cast<index>(parameters)), grouped_digits(steps.pretrain),
                          short_count(static_cast<index>(tokens)), tokens / parameters, times(epochs)));
    constexpr double kManyEpochs = 16;
    if (epochs > kManyEpochs) {
      warn(fmt::format(
          "warning: the text is small for this time: it will be read {}, and after about 16 times a model learns little more and "
          "starts to memorise; add texts to --corpus, or give a shorter --time",
          times(epochs)));
    }
    std::vector<std::string> tuned = tuning_settings(precision_);
    set(tuned, "optim.learning_rate", parameters < 2e7 ? 1e-3 : 3e-4);
    set(tuned, "train.batch_size", size.batch_size);
    add_chats(tuned, "pretrain", steps.chats, measured.step_seconds, chats.epoch_steps);
    if (steps.preferences > 0) {
      std::vector<std::string> preferred = tuning_settings(precision_);
      set(preferred, "preference.method", "auto");
      set(preferred, "optim.learning_rate", parameters < 2e7 ? 2e-5 : 5e-6);
      set(preferred, "train.batch_size", pair_rows);
      add_preferences(preferred, "chats", steps.preferences, preferences);
    }
    add_questions(questions);
  }

  /// Plans the stages after pretraining, for a model that the user has.
  void plan_later_stages() {
    constexpr index kLargeModel = 50'000'000, kWindow = 512;
    constexpr double kReferenceCost = 1.25;
    const TransformerConfig model = ModelOrigin::open(plan_.from).config().model;
    const bool is_large = 12 * model.n_layer * model.n_embd * model.n_embd > kLargeModel;
    const index window = std::min(model.block_size, kWindow);
    std::vector<std::string> settings = tuning_settings(precision_);
    if (window < model.block_size && (model.positions == Positions::rope || model.positions == Positions::none)) {
      set(settings, "data.window", window);
    }
    if (is_large) {
      settings.emplace_back("lora.rank=16");
    }
    std::vector<std::string> tuned = settings, preferred = settings;
    set(tuned, "optim.learning_rate", is_large ? 5e-4 : 3e-4);
    set(tuned, "train.batch_size", index{4});
    set(preferred, "preference.method", "auto");
    set(preferred, "optim.learning_rate", is_large ? 5e-5 : 1e-5);
    set(preferred, "train.batch_size", index{2});
    StageCost chats, preferences;
    double others = 0, questions = 0;  // other times than those of steps
    if (has_chats()) {
      read_chats(window);
      const fs::path data = recipes().empty() ? fs::path() : recipes().front().parent_path() / "../data/questions.jsonl";
      WantedRun wanted{.set = tuned, .corpus = {plan_.chats.empty() ? absolute(data.string()) : plan_.chats}, .init_from = plan_.from};
      set_steps(wanted.set, 1000, 1);
      const Measured measured = measure(wanted, chats_.learnt);
      const double found = static_cast<double>(measured.epoch_windows) / 4;
      chats = {.step_seconds = measured.step_seconds, .epoch_steps = plan_.chats.empty() ? 1.5 * found : found};
      others += measured.loading_seconds + measured.evaluation_seconds * (kEvaluations + 1);
      questions = time_of_questions(measured.step_seconds / static_cast<double>(4 * window), plan_.pairs.empty() ? 2 : 3);
    }
    if (!plan_.pairs.empty()) {
      WantedRun wanted{.set = preferred, .corpus = {plan_.pairs}, .init_from = plan_.from};
      set_steps(wanted.set, 1000, 1);
      const Measured measured = measure(wanted, "");
      preferences = {.step_seconds = kReferenceCost * measured.step_seconds,
                     .epoch_steps = static_cast<double>(measured.epoch_windows) / 2};
      others += measured.loading_seconds + measured.evaluation_seconds * (kEvaluations + 1);
    }
    const StageSteps steps = share_time(time_left(others + questions), {}, chats, preferences);
    expected_ += others;
    if (steps.chats > 0) {
      add_chats(tuned, plan_.from, steps.chats, chats.step_seconds, chats.epoch_steps);
    }
    if (steps.preferences > 0) {
      add_preferences(preferred, steps.chats > 0 ? "chats" : plan_.from, steps.preferences, preferences);
    }
    add_questions(questions);
  }

  static std::string times(double epochs) { return fmt::format("{:.{}f} times", epochs, epochs < 10 ? 1 : 0); }

  void add_chats(std::vector<std::string> settings, const std::string& from, index steps, double step_seconds, double epoch_steps) {
    if (!chats_.held_out.empty()) {
      set(settings, "data.validation", kHeldOutChats);
    }
    set_steps(settings, steps, step_seconds);
    const std::string whose = plan_.chats.empty() ? concat(" of dikkat's own, as ", plan_.name) : concat(" of ", plan_.chats);
    add_stage("chats", {kLearntChats}, from, settings, steps, step_seconds, 0,
              fmt::format("{} conversations{}; {} steps, read {}", grouped_digits(chats_.conversations), whose, grouped_digits(steps),
                          times(static_cast<double>(steps) / epoch_steps)));
    if (chats_.tasks_count > 0) {
      plan_.tasks = kTasks;
    }
  }

  void add_preferences(std::vector<std::string> settings, const std::string& from, index steps, const StageCost& cost) {
    set_steps(settings, steps, cost.step_seconds);
    add_stage("preferences", {plan_.pairs}, from, settings, steps, cost.step_seconds, 0,
              fmt::format("{} examples of {}; {} steps", grouped_digits(std::ssize(pairs_.examples)), plan_.pairs, grouped_digits(steps)));
  }

  void add_stage(const std::string& name, std::vector<std::string> corpus, const std::string& from, std::vector<std::string> settings,
                 index steps, double step_seconds, double evaluations, const std::string& what) {
    const double seconds = static_cast<double>(steps) * step_seconds + evaluations;
    plan_.stages.push_back(
        {.name = name, .corpus = std::move(corpus), .from = from, .settings = std::move(settings), .steps = steps, .seconds = seconds});
    add_row(name, seconds, what);
  }

  void add_row(const std::string& name, double seconds, const std::string& what) {
    expected_ += seconds;
    plan_.table += fmt::format("{:<12} {:>8}  {}\n", name, clock_time(seconds), what);
  }

  const AssistantArguments& arguments_;
  double seconds_, expected_ = 0;
  Clock::time_point start_ = Clock::now();
  AssistantPlan plan_;
  AssistantChats chats_;
  PreferenceCorpus pairs_;
  std::string precision_;
};

/// Throws InputError if an option of this command disagrees with the plan. An option that is not given agrees.
void require_agreement(const AssistantArguments& arguments, const AssistantPlan& plan) {
  const auto require_equal = [&](const char* option, bool agrees, const auto& given, const auto& planned) {
    require_input(agrees, option, " is ", given, ", but ", arguments.out, " was begun with ", planned, ": leave ", option,
                  " out to continue it, or choose another --out");
  };
  const auto seconds = wanted_seconds(arguments);
  require_equal(arguments.time.empty() ? "--preset" : "--time", !seconds || *seconds == plan.seconds,
                arguments.time.empty() ? arguments.preset : arguments.time, clock_time(plan.seconds));
  require_equal("--corpus", arguments.corpus.empty() || absolute(arguments.corpus) == plan.corpus, names_of(arguments.corpus),
                plan.corpus.empty() ? "no corpus" : names_of(plan.corpus));
  for (const auto& [option, given, planned] : {std::tuple{"--chats", absolute(arguments.chats), plan.chats},
                                               {"--pairs", absolute(arguments.pairs), plan.pairs},
                                               {"--from", absolute(arguments.from), plan.from},
                                               {"--name", arguments.name, plan.name}}) {
    require_equal(option, given.empty() || given == planned, given, planned.empty() ? "none" : planned);
  }
}

/// Runs the stages of a folder, from the plan that it has.
class Assistant {
 public:
  explicit Assistant(const fs::path& folder) : folder_(folder), lock_(FolderLock::take(folder)), plan_(read_plan(folder)) { lock_.sign(); }

  /// Returns the exit code.
  int run() {
    write_chats();
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      AssistantStage& stage = plan_.stages[i];
      if (stage.done) {
        continue;
      }
      print_message(fmt::format("stage {} of {}: {}", i + 1, plan_.stages.size(), stage.name));
      const auto start = Clock::now();
      if (i == 0 && !plan_.from.empty() && plan_.before.empty() && !ask(plan_.from, plan_.before)) {
        return stopped();
      }
      if (const int code = train(stage); code != 0) {
        return stop_requested() ? stopped() : code;
      }
      if (!ask(run_of(stage), stage.tasks)) {
        return stopped();
      }
      stage.took = seconds_since(start);
      stage.done = true;
      write_plan(folder_, plan_);
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
    if (chats == plan_.stages.end() || is_there(folder_ / kLearntChats)) {
      return;
    }
    const AssistantChats texts = read_assistant_chats(plan_.chats, plan_.name, plan_.longest_question);
    replace_file(folder_ / kHeldOutChats, texts.held_out);
    replace_file(folder_ / kTasks, texts.tasks);
    replace_file(folder_ / kLearntChats, texts.learnt);
  }

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
    remove_tree(run);  // a start that was interrupted before the first checkpoint
    TrainArguments arguments;
    arguments.run.set = stage.settings;
    for (std::string& setting : arguments.run.set) {
      if (setting == concat("data.validation=", kHeldOutChats)) {
        setting = concat("data.validation=", (folder_ / kHeldOutChats).string());
      }
    }
    for (const std::string& path : stage.corpus) {
      arguments.run.corpus.push_back(path == kLearntChats ? (folder_ / path).string() : path);
    }
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
    const fs::path merged = folder_ / concat(earlier->name, "-merged");
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

  /// Saves the model of a run, with its adapters added, as a folder that every command takes. Does nothing if an earlier start did.
  static void save_complete(const fs::path& run, const fs::path& out) {
    if (!list_checkpoints(out).empty()) {
      return;
    }
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

/// Runs an assistant to its end, and prints the results. `start` is when its command began. Returns the exit code.
int finish(const fs::path& folder, bool json, Clock::time_point start) {
  Assistant assistant(folder);
  if (const int code = assistant.run(); code != 0) {
    return code;
  }
  const std::string out = folder.string();
  print_message(report_text(assistant.plan()));
  print_message(
      fmt::format("this command took {}; the plan had {}\n", clock_time(seconds_since(start)), clock_time(assistant.plan().seconds)));
  print_message(for_terminal(concat("next: dikkat chat ", out, "\n      dikkat serve ", out)));
  print_result((json ? plan_as_json(assistant.plan()) : out) + '\n');
  flush_results();
  return 0;
}

void require_one_process() {
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };  // NOLINT(concurrency-mt-unsafe)
  require_input(!launcher(variable), "dikkat assistant runs in one process: start it without mpirun or srun");
}

int assistant_command(const AssistantArguments& arguments) {
  const auto start = Clock::now();
  require_one_process();
  start_threads();
  require_input(!arguments.out.empty() || arguments.plan_only, "--out is missing: give the folder of the assistant");
  const fs::path folder = arguments.out;
  if (!arguments.out.empty() && is_assistant(folder)) {
    const AssistantPlan plan = read_plan(folder);
    require_agreement(arguments, plan);
    print_message(plan.table);
    return arguments.plan_only ? 0 : finish(folder, arguments.json, start);
  }
  // A new assistant.
  const auto is_lock = [](const fs::path& path) { return path.filename() == kLockName; };
  require_input(arguments.out.empty() || !is_there(folder) || (is_folder(folder) && std::ranges::all_of(paths_in(folder), is_lock)),
                arguments.out, " is not empty and is not the folder of an assistant: choose another --out");
  require_input(std::ranges::find(arguments.corpus, kStandardInput) == arguments.corpus.end(),
                "--corpus is standard input, which cannot be read again: give files or folders");
  require_input(arguments.from.empty() != arguments.corpus.empty(),
                "give --corpus to begin with texts, or --from to begin with a trained model, and not both");
  const auto seconds = wanted_seconds(arguments);
  require_input(seconds.has_value(), "the time is missing: give --time, such as 3h, or --preset tiny, student or small");
  const AssistantPlan plan = Planner(arguments, *seconds).make();
  if (arguments.plan_only) {
    print_result(arguments.json ? plan_as_json(plan) + '\n' : plan.table);
    flush_results();
    return 0;
  }
  print_message(plan.table);
  make_folders(folder);
  {
    const FolderLock lock = FolderLock::take(folder);
    require_input(!is_assistant(folder), arguments.out, " has just been begun by another process: choose another --out");
    write_plan(folder, plan);
  }
  return finish(folder, arguments.json, start);
}

}  // namespace

int resume_assistant(const ResumeArguments& arguments) {
  const auto start = Clock::now();
  require_one_process();
  start_threads();
  require_input(arguments.set.empty() && arguments.base.empty() && !arguments.latest_good && !arguments.profile, arguments.run_directory,
                " is the folder of `dikkat assistant`, whose plan is fixed: leave out --set, --base, --latest-good and --profile, or "
                "resume one of its "
                "runs, such as ",
                arguments.run_directory, "/chats");
  print_message(read_plan(arguments.run_directory).table);
  return finish(arguments.run_directory, false, start);
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
