#include "train/assistant/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"
#include "train/assistant/chats.h"
#include "train/cli/corpus_summary.h"
#include "train/cli/progress.h"
#include "train/cli/run_options.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/corpus_statistics.h"
#include "train/data/examples/preferences.h"
#include "train/data/training_data.h"
#include "train/machine/rate.h"
#include "train/model/precision.h"
#include "train/run/origin.h"
#include "train/run/trainer.h"
#include "train/run/trial.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr index kEvaluations = 8;  // of a stage

/// Returns the bytes of the texts. A compressed file counts three times, since its text is about three times as long.
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

/// Returns the settings of pretraining: the recipe of configs/english-books.toml for another size. The layout is Qwen3's, as in
/// configs/quickstart.toml, so that other programs can read the model. It has no attention windows. A text that is read often gets dropout
/// and more weight decay (docs/RECIPES.md).
std::vector<std::string> pretrain_settings(const AssistantSize& size, index vocab_size, bool is_read_often, const std::string& precision) {
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
  set(all, "model.dropout", is_read_often ? 0.1 : 0.0);
  set(all, "tokenizer.vocab_size", vocab_size);
  set(all, "optim.learning_rate", 6e-3);
  set(all, "optim.weight_decay", is_read_often ? 0.8 : 0.4);
  set(all, "train.batch_size", size.batch_size);
  set(all, "train.precision", precision);
  return all;
}

/// Returns the settings that chats and preferences share.
std::vector<std::string> tuning_settings(const std::string& precision) {
  std::vector<std::string> all = {"optim.schedule=linear", "optim.min_lr=0", "optim.weight_decay=0", "optim.beta2=0.99",
                                  "train.eval_tokens=65536"};
  set(all, "train.precision", precision);
  return all;
}

/// The results of a stage's trial.
struct Measured {
  double step_seconds = 0, evaluation_seconds = 0;
  double loading_seconds = 0;  // to read the text, and to train the tokenizer
  index epoch_windows = 0, tokens = 0, vocab_size = 0;
  double bytes_per_token = 1;
  std::string tokenizer{};  // JSON
};

/// Prepares a stage and makes its first steps, without writing anything.
Measured measure(const RunOptions& wanted, const std::string& sample_text) {
  constexpr index kSteps = 100;  // or those of ten seconds
  const auto start = Clock::now();
  Config config = configuration_of(wanted);
  announce_corpus(config.data.training_paths());
  LoadingLine line;
  Trainer trainer = Trainer::plan(std::move(config), std::ref(line));
  Measured measured{.loading_seconds = seconds_since(start),
                    .epoch_windows = trainer.loader().epoch_size(),
                    .tokens = trainer.data().train_tokens(),
                    .vocab_size = trainer.data().tokenizer->vocab_size(),
                    .tokenizer = trainer.data().tokenizer->to_json()};
  const auto tokens = static_cast<double>(trainer.data().tokenizer->encode(sample_text).size());
  measured.bytes_per_token = tokens > 0 ? static_cast<double>(sample_text.size()) / tokens : 1;
  const Trial trial = run_trial(trainer, kSteps);
  // Take the lower quartile of the steps, since other programs can only make a step slower. Add the time of saves, which a trial does not
  // make.
  constexpr double kSaves = 1.02;
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
  explicit Planner(AssistantPlan wishes) : plan_(std::move(wishes)) {}

  AssistantPlan make() {
    Config config;
    config.train.precision = Precision::auto_;
    settle_precision(config);
    precision_ = name_of(config.train.precision);
    const std::string text_field = "text";
    if (!plan_.pairs.empty()) {
      const std::vector paths = {plan_.pairs};
      const CorpusContents found = contents_of(paths, text_field);
      if (found.kind != DataKind::pairs && found.kind != DataKind::judgments) {
        refuse(
            found,
            "preferences (--pairs): \"chosen\" and \"rejected\", or \"prompt\", \"completion\" and \"label\"; --chats takes conversations");
      }
      pairs_ = read_preferences(paths);
    }
    if (!plan_.chats.empty()) {
      const CorpusContents found = contents_of(std::vector{plan_.chats}, text_field);
      if (!is_of_conversations(found) && found.kind != DataKind::documents) {
        refuse(found, "conversations (--chats); --pairs takes preferences");
      }
    }
    if (!plan_.corpus.empty()) {
      const CorpusContents found = contents_of(plan_.corpus, text_field);
      if (found.kind != DataKind::text && found.kind != DataKind::documents) {
        refuse(found, "texts (--corpus); --chats takes conversations, and --pairs preferences");
      }
    }
    if (plan_.from.empty()) {
      plan_new_model(operand_type(config.train));
    } else {
      plan_later_stages();
    }
    add_row("planning", seconds_since(start_), "measuring this machine on the texts");
    add_row("in all", expected_, concat("of the ", clock_time(plan_.seconds), " that were given"));
    return plan_;
  }

 private:
  static constexpr double kEndSeconds = 1, kEndShare = 0.02;  // the report, and saving
  static constexpr double kReferenceCost = 1.25;              // a step, and scoring its examples by the reference, in times of the step

  bool has_chats() const { return plan_.from.empty() || !plan_.chats.empty() || plan_.pairs.empty(); }

  void read_chats(index context) {
    // Counted in bytes: a text has at most one token for each byte, so this many always fit.
    constexpr index kMarkup = 32;  // tokens of a template around a question and its answer
    plan_.longest_question = context - kMarkup;
    chats_ = read_assistant_chats(plan_.chats, plan_.name, plan_.longest_question);
  }

  /// Returns the time to ask the held-out questions after two stages, or after three with preferences. `token_seconds` is the time of
  /// training on one token. A question takes about as long as 700 of them, for models of 1 and of 56 million parameters.
  double time_of_questions(double token_seconds) const {
    constexpr double kTokensOfQuestion = 700;
    return kTokensOfQuestion * token_seconds * static_cast<double>(chats_.asked * (plan_.pairs.empty() ? 2 : 3));
  }

  /// Returns the time of a stage's evaluations, the one before its first step included.
  static double time_of_evaluations(const Measured& measured) { return measured.evaluation_seconds * (kEvaluations + 1); }

  /// Returns the cost of the chats for steps of so many tokens. Packing leaves some padding, and a template adds tokens to each message.
  StageCost cost_of_chats(const Measured& measured, double step_tokens) const {
    constexpr double kPadding = 1.15, kMarkup = 6;
    const double tokens =
        kPadding * (static_cast<double>(chats_.bytes) / measured.bytes_per_token + kMarkup * static_cast<double>(chats_.messages));
    return {.step_seconds = measured.step_seconds, .epoch_steps = tokens / step_tokens};
  }

  void add_questions(double seconds) {
    if (chats_.asked > 0) {
      add_row("questions", seconds, fmt::format("{} held-out conversations, asked after each stage", chats_.asked));
    } else if (has_chats()) {
      add_row("questions", 0,
              chats_.held_out.empty()
                  ? "none: there are fewer than 20 conversations"
                  : fmt::format("none: no held-out question with its answer has at most {} bytes, the most that always fit",
                                plan_.longest_question));
    }
  }

  /// Returns what is left of the time for training.
  double time_left(double others) const {
    const double left = plan_.seconds - seconds_since(start_) - others - kEndSeconds - kEndShare * plan_.seconds;
    require_input(left > 0, "--time is ", clock_time(plan_.seconds), ", but reading the texts and evaluating takes ",
                  clock_time(plan_.seconds - left), ": give a longer --time");
    return left;
  }

  /// A model to pretrain, and what its first steps measured.
  struct Choice {
    AssistantSize size;
    Measured measured;
    double step_tokens = 0;  // tokens of a step
  };

  /// Chooses a size by the machine's rate, and measures it. Measures once more if its own rate allows another size, or changes whether the
  /// text is read often.
  Choice choose_size(DType operands, index vocab_size, index bytes) {
    constexpr double kPretrainShare = 0.8, kUsefulShare = 0.4;  // of the machine's rate that training a small model reaches
    constexpr double kBytesPerToken = 3;
    const double seconds = kPretrainShare * plan_.seconds;
    double rate = kUsefulShare * gemm_rate(operands), text_tokens = static_cast<double>(bytes) / kBytesPerToken;
    AssistantSize size = size_for(seconds, rate, vocab_size, bytes);
    for (bool is_last = false;; is_last = true) {
      read_chats(size.block_size);
      const auto step_tokens = static_cast<double>(size.batch_size * size.block_size);
      const double flops = size.flops_per_token(vocab_size) * step_tokens;
      const auto steps = [&] { return std::max(8.0, seconds * rate / flops); };
      const auto is_read_often = [&] { return is_often(steps() * step_tokens / text_tokens); };
      const bool assumed = is_read_often();
      RunOptions wanted{.set = pretrain_settings(size, vocab_size, assumed, precision_), .corpus = plan_.corpus};
      set_steps(wanted.set, static_cast<index>(steps()), 1);
      const Measured measured = measure(wanted, chats_.learned);
      rate = flops / measured.step_seconds;
      text_tokens = distinct_ * static_cast<double>(measured.tokens);
      const AssistantSize better = size_for(seconds, rate, vocab_size, bytes);
      if (is_last || (better == size && is_read_often() == assumed)) {
        return {.size = size, .measured = measured, .step_tokens = step_tokens};
      }
      size = better;
    }
  }

  /// Throws InputError if a later stage could learn nothing from a file. Otherwise it would find that only when its turn comes.
  static void require_learnable(const char* option, const std::string& path, const char* method, index context,
                                const std::string& tokenizer) {
    if (path.empty()) {
      return;
    }
    std::vector<std::string> settings;
    set(settings, "model.block_size", context);
    set(settings, "preference.method", method);
    const Config config = configuration_of({.set = settings, .corpus = {path}});
    const KnownCorpus known{.tokenizer = tokenizer};
    try {
      load_training_data(ResolvedConfig(config), &known);
    } catch (const InputError& error) {
      const std::string what = error.what();  // after a semicolon, it advises keys that this command does not have
      fail_input(option, " is ", path, ", from which a model with a context of ", context,
                 " tokens cannot learn: ", what.substr(0, what.find("; ")),
                 "; give shorter examples, or a longer --time, which allows a longer context");
    }
  }

  void plan_new_model(DType operands) {
    constexpr double kPreferenceCost = 1.45;
    constexpr index kLeastBytes = 10'000;
    const double repeats = share_of_repeats(open_corpus(plan_.corpus));
    distinct_ = 1 - repeats;
    const auto bytes = static_cast<index>(distinct_ * static_cast<double>(bytes_of(plan_.corpus)));
    const index vocab_size = vocabulary_for(bytes);
    require_input(bytes >= kLeastBytes, "--corpus has ", grouped_digits(bytes), " bytes, expected at least ", grouped_digits(kLeastBytes),
                  " (some megabytes make a good model): add texts, or begin with a trained model (--from)");
    const auto [size, measured, step_tokens] = choose_size(operands, vocab_size, bytes);
    require_learnable("--chats", plan_.chats, "none", size.block_size, measured.tokenizer);
    require_learnable("--pairs", plan_.pairs, pairs_.are_pairs() ? "dpo" : "kto", size.block_size, measured.tokenizer);
    // The time of each stage's steps. Chats have the same windows, so their steps take as long.
    const StageCost chats = cost_of_chats(measured, step_tokens);
    StageCost preferences;
    const index pair_rows = std::max<index>(1, size.batch_size / 4);  // a row has two windows
    if (!plan_.pairs.empty()) {
      const double share = 2 * static_cast<double>(pair_rows) / static_cast<double>(size.batch_size);
      preferences = {.step_seconds = measured.step_seconds * share * kPreferenceCost * kReferenceCost,
                     .epoch_steps = static_cast<double>(pairs_.files.bytes) / measured.bytes_per_token / (step_tokens * share)};
    }
    const double evaluation = time_of_evaluations(measured);
    const double questions = time_of_questions(measured.step_seconds / step_tokens);
    const StageSteps steps = share_time(time_left(measured.loading_seconds + evaluation + questions),
                                        {.step_seconds = measured.step_seconds}, chats, preferences);

    // The stages, and the table. What depends on the number of epochs is settled by those of the plan.
    const double tokens = static_cast<double>(steps.pretrain) * step_tokens,
                 epochs = tokens / (distinct_ * static_cast<double>(measured.tokens));
    std::vector<std::string> settings = pretrain_settings(size, vocab_size, is_often(epochs), precision_);
    set_steps(settings, steps.pretrain, measured.step_seconds);
    const auto parameters = static_cast<double>(size.parameters(measured.vocab_size));
    add_row("tokenizer", measured.loading_seconds,
            fmt::format("{} word pieces from {} bytes{}", grouped_digits(measured.vocab_size), grouped_digits(bytes),
                        repeats > 0 ? fmt::format("; {:.0f} % of the texts are copies, which are not counted", 100 * repeats) : ""));
    add_stage("pretrain", plan_.corpus, "", settings, steps.pretrain, measured.step_seconds, evaluation,
              fmt::format("{} layers x {}, {} parameters; {} steps, {} tokens ({:.1f} for each parameter); the text is read {}",
                          size.n_layer, size.n_embd, short_count(static_cast<index>(parameters)), grouped_digits(steps.pretrain),
                          short_count(static_cast<index>(tokens)), tokens / parameters, times(epochs)));
    constexpr double kManyEpochs = 16;
    if (epochs > kManyEpochs) {
      warn(fmt::format(
          "warning: the text is small for this time: it will be read {}, and after about 16 times a model learns little more and "
          "starts to memorize; add texts to --corpus, or give a shorter --time",
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
    constexpr index kLargeModel = 50'000'000, kWindow = 512, kRows = 4, kPairRows = 2;
    const TransformerConfig model = ModelOrigin::open(plan_.from).config().model;
    const AssistantSize blocks{.n_layer = model.n_layer, .n_embd = model.n_embd};
    const bool is_large = blocks.parameters(0) > kLargeModel;
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
    set(tuned, "train.batch_size", kRows);
    set(preferred, "preference.method", "auto");
    set(preferred, "optim.learning_rate", is_large ? 5e-5 : 1e-5);
    set(preferred, "train.batch_size", kPairRows);
    StageCost chats, preferences;
    double others = 0, questions = 0;  // other times than those of steps
    if (has_chats()) {
      read_chats(window);
      RunOptions wanted{
          .set = tuned, .corpus = {plan_.chats.empty() ? shipped_data("questions.jsonl") : plan_.chats}, .init_from = plan_.from};
      set_steps(wanted.set, 1000, 1);
      const Measured measured = measure(wanted, chats_.learned);
      const auto step_tokens = static_cast<double>(kRows * window);
      chats = cost_of_chats(measured, step_tokens);
      if (!plan_.chats.empty()) {  // their windows are known
        chats.epoch_steps = static_cast<double>(measured.epoch_windows) / kRows;
      }
      others += measured.loading_seconds + time_of_evaluations(measured);
      questions = time_of_questions(measured.step_seconds / step_tokens);
    }
    if (!plan_.pairs.empty()) {
      RunOptions wanted{.set = preferred, .corpus = {plan_.pairs}, .init_from = plan_.from};
      set_steps(wanted.set, 1000, 1);
      const Measured measured = measure(wanted, "");
      preferences = {.step_seconds = kReferenceCost * measured.step_seconds,
                     .epoch_steps = static_cast<double>(measured.epoch_windows) / kPairRows};
      others += measured.loading_seconds + time_of_evaluations(measured);
    }
    const StageSteps steps = share_time(time_left(others + questions), {}, chats, preferences);
    add_row("reading", others, "the texts, and evaluating");
    if (steps.chats > 0) {
      add_chats(tuned, plan_.from, steps.chats, chats.step_seconds, chats.epoch_steps);
    }
    if (steps.preferences > 0) {
      add_preferences(preferred, steps.chats > 0 ? "chats" : plan_.from, steps.preferences, preferences);
    }
    add_questions(questions);
  }

  static bool is_often(double epochs) { return epochs > 8; }

  static std::string times(double epochs) { return fmt::format("{:.{}f} times", epochs, epochs < 10 ? 1 : 0); }

  void add_chats(std::vector<std::string> settings, const std::string& from, index steps, double step_seconds, double epoch_steps) {
    if (!chats_.held_out.empty()) {
      set(settings, "data.validation", kHeldOutChats);
    }
    set_steps(settings, steps, step_seconds);
    const std::string whose = plan_.chats.empty() ? concat(" of dikkat's own, as ", plan_.name) : concat(" of ", plan_.chats);
    add_stage(
        "chats", {kLearnedChats}, from, settings, steps, step_seconds, 0,
        fmt::format("{} conversation{}{}; {} steps, read {}", grouped_digits(chats_.conversations), chats_.conversations == 1 ? "" : "s",
                    whose, grouped_digits(steps), times(static_cast<double>(steps) / epoch_steps)));
    if (chats_.asked > 0) {
      plan_.tasks = kTasks;
    }
  }

  /// Adds the preference stage. The reference model scores every example before the first step, so the plan leaves out examples that no
  /// step would read.
  void add_preferences(std::vector<std::string> settings, const std::string& from, index steps, const StageCost& cost) {
    const auto all = static_cast<double>(pairs_.examples.size());
    const double learned = std::ceil(all * std::min(1.0, static_cast<double>(steps) / cost.epoch_steps));
    plan_.learned_pairs = static_cast<index>(learned);
    set_steps(settings, steps, cost.step_seconds);
    add_stage("preferences", {kLearnedPairs}, from, settings, steps, cost.step_seconds, 0,
              fmt::format("{}{} examples of {}; {} steps", learned < all ? fmt::format("{} of ", grouped_digits(plan_.learned_pairs)) : "",
                          grouped_digits(std::ssize(pairs_.examples)), plan_.pairs, grouped_digits(steps)));
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

  double expected_ = 0;
  double distinct_ = 1;  // the share of the texts that are not copies of others
  Clock::time_point start_ = Clock::now();
  AssistantPlan plan_;
  AssistantChats chats_;
  PreferenceCorpus pairs_;
  std::string precision_;
};

}  // namespace

AssistantPlan plan_assistant(AssistantPlan wishes) { return Planner(std::move(wishes)).make(); }

}  // namespace dikkat
