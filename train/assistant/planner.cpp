#include "train/assistant/planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/base/error.h"
#include "train/assistant/assumptions.h"
#include "train/assistant/recipe.h"
#include "train/assistant/share_time.h"
#include "train/system/clock_time.h"

namespace dikkat::assistant {
namespace {

constexpr index kTriedLength = 1000;  // steps of a run that is tried before its length is known

bool is_often(double epochs) { return epochs > kOftenEpochs; }

/// Returns the time of a stage's evaluations, the one before its first step included.
double time_of_evaluations(const StageTrial& trial) { return trial.evaluation_seconds * (kEvaluations + 1); }

/// A model to pretrain, and what its first steps measured.
struct Choice {
  Size size;
  StageTrial trial;
};

/// The costs of the stages after pretraining, and other times than those of steps.
struct Costs {
  StageCost chats{}, preferences{};
  double others = 0, questions = 0;  // seconds
};

class Planner {
 public:
  Planner(const Wishes& wishes, const Facts& facts, Measure& measure) : wishes_(wishes), facts_(facts), measure_(measure) {
    plan_.wishes = wishes;
    figures_.has_held_out_chats = !facts.chats.held_out.empty();
    figures_.conversations = facts.chats.conversations;
    figures_.pairs = facts.pairs.examples;
  }

  PlanOutline make() {
    if (facts_.model) {
      plan_later_stages(*facts_.model);
    } else {
      plan_new_model();
    }
    figures_.planning_seconds = measure_.seconds();
    return {.plan = std::move(plan_), .figures = std::move(figures_)};
  }

 private:
  void plan_new_model() {
    const index vocab_size = vocabulary_for(facts_.bytes);
    const auto [size, trial] = choose_size(vocab_size);
    const Tuning tuning = tuning_of_new(size, trial.vocab_size, facts_.precision);
    require_learnable("--chats", wishes_.chats, PreferenceMethod::none, size.block_size, trial.tokenizer);
    require_learnable("--pairs", wishes_.pairs, facts_.pairs.are_pairs ? PreferenceMethod::dpo : PreferenceMethod::kto, size.block_size,
                      trial.tokenizer);
    ask_in_context(size.block_size);

    // Share the time. Chats have the same windows, so their steps take as long.
    const double evaluation = time_of_evaluations(trial), questions = time_of_questions(trial.step_seconds / size.step_tokens());
    const StageCost chats = cost_of_chats(trial, size.step_tokens()), preferences = cost_of_pairs(trial, size, tuning.pair_rows);
    const StageSteps steps =
        share_time(time_left(trial.loading_seconds + evaluation + questions), {.step_seconds = trial.step_seconds}, chats, preferences);
    figures_.vocab_size = trial.vocab_size;
    figures_.bytes = facts_.bytes;
    figures_.repeats = facts_.repeats;
    figures_.reading_seconds = trial.loading_seconds;
    figures_.question_seconds = questions;
    figures_.size = size;
    figures_.parameters = size.parameters(trial.vocab_size);
    figures_.pretrain_tokens = static_cast<double>(steps.pretrain) * size.step_tokens();
    figures_.pretrain_epochs = figures_.pretrain_tokens / distinct_tokens(trial);

    // Add the stages. What depends on the number of epochs is settled by those of the plan.
    add_stage(StageKind::pretrain, wishes_.corpus, {}, pretraining(size, vocab_size, is_often(figures_.pretrain_epochs), facts_.precision),
              steps.pretrain, trial.step_seconds);
    plan_.stages.back().seconds += evaluation;
    add_chats(tuning, StageKind::pretrain, steps.chats, chats);
    add_preferences(tuning, StageKind::chats, steps.preferences, preferences);
  }

  /// Plans the stages after pretraining, for a model that the user has.
  void plan_later_stages(const TransformerConfig& model) {
    const index window = std::min(model.block_size, kTuningWindow);
    const Tuning tuning = tuning_of_trained(model, window, facts_.precision);
    Costs costs;
    if (wishes_.has_chats()) {
      ask_in_context(window);
      const auto step_tokens = static_cast<double>(tuning.chat_rows * window);
      const StageTrial trial = measure_.try_stage(
          {.edits = joined({tuning.chats(), length_of(kTriedLength, 1)}), .corpus = {facts_.chats.path}, .init_from = wishes_.from},
          facts_.chats.learned);
      costs.chats = cost_of_chats(trial, step_tokens);
      if (!wishes_.chats.empty()) {  // their windows are known
        costs.chats.epoch_steps = static_cast<double>(trial.epoch_windows) / static_cast<double>(tuning.chat_rows);
      }
      costs.others += trial.loading_seconds + time_of_evaluations(trial);
      costs.questions = time_of_questions(trial.step_seconds / step_tokens);
    }
    if (!wishes_.pairs.empty()) {
      const StageTrial trial = measure_.try_stage(
          {.edits = joined({tuning.preferences(), length_of(kTriedLength, 1)}), .corpus = {wishes_.pairs}, .init_from = wishes_.from}, "");
      costs.preferences = {.step_seconds = kReferenceCost * trial.step_seconds,
                           .epoch_steps = static_cast<double>(trial.epoch_windows) / static_cast<double>(tuning.pair_rows)};
      costs.others += trial.loading_seconds + time_of_evaluations(trial);
    }
    const StageSteps steps = share_time(time_left(costs.others + costs.questions), {}, costs.chats, costs.preferences);
    figures_.reading_seconds = costs.others;
    figures_.question_seconds = costs.questions;
    add_chats(tuning, std::nullopt, steps.chats, costs.chats);
    add_preferences(tuning, steps.chats > 0 ? std::optional(StageKind::chats) : std::nullopt, steps.preferences, costs.preferences);
  }

  /// Chooses a size by the machine's rate, and tries it. Tries once more if its own rate allows another size, or changes whether the text
  /// is read often.
  Choice choose_size(index vocab_size) {
    const double seconds = kPretrainShare * wishes_.seconds;
    double rate = kUsefulShare * measure_.product_rate(), text_tokens = static_cast<double>(facts_.bytes) / kBytesPerToken;
    Size size = size_for(seconds, rate, vocab_size, facts_.bytes);
    for (bool is_last = false;; is_last = true) {
      const double flops = size.flops_per_token(vocab_size) * size.step_tokens();
      const auto steps = [&] { return std::max(kFewestStageSteps, seconds * rate / flops); };
      const auto is_read_often = [&] { return is_often(steps() * size.step_tokens() / text_tokens); };
      const bool assumed = is_read_often();
      const StageTrial trial = measure_.try_stage(
          {.edits = joined({pretraining(size, vocab_size, assumed, facts_.precision), length_of(static_cast<index>(steps()), 1)}),
           .corpus = wishes_.corpus},
          facts_.chats.learned);
      rate = flops / trial.step_seconds;
      text_tokens = distinct_tokens(trial);
      const Size better = size_for(seconds, rate, vocab_size, facts_.bytes);
      if (is_last || (better == size && is_read_often() == assumed)) {
        return {.size = size, .trial = trial};
      }
      size = better;
    }
  }

  /// Throws InputError if a later stage could learn nothing from a file. Otherwise it would find that only when its turn comes.
  void require_learnable(const char* option, const std::string& path, PreferenceMethod method, index context,
                         const std::string& tokenizer) {
    if (path.empty()) {
      return;
    }
    const std::string what =
        measure_.objection_to({.edits = {{"model.block_size", context}, {"preference.method", method}}, .corpus = {path}}, tokenizer);
    // After a semicolon, it advises keys that this command does not have.
    require_input(what.empty(), option, " is ", path, ", from which a model with a context of ", context,
                  " tokens cannot learn: ", what.substr(0, what.find("; ")),
                  "; give shorter examples, or a longer --time, which allows a longer context");
  }

  /// Returns the tokens of the corpus without copies.
  double distinct_tokens(const StageTrial& trial) const { return (1 - facts_.repeats) * static_cast<double>(trial.tokens); }

  /// Chooses the questions for a context. They are counted in bytes: a text has at most one token for each byte, so it surely fits.
  void ask_in_context(index context) {
    plan_.longest_question = context - kQuestionMarkup;
    figures_.asked = tasks_of(facts_.chats, plan_.longest_question).asked;
  }

  /// Returns the time to ask the held-out questions after two stages, or after three with preferences. `token_seconds` is the time of
  /// training on one token.
  double time_of_questions(double token_seconds) const {
    return kTokensOfQuestion * token_seconds * static_cast<double>(figures_.asked * (wishes_.pairs.empty() ? 2 : 3));
  }

  /// Returns the cost of the chats for steps of so many tokens.
  StageCost cost_of_chats(const StageTrial& trial, double step_tokens) const {
    const double text = static_cast<double>(facts_.chats.bytes) / trial.bytes_per_token,
                 markup = kMessageMarkup * static_cast<double>(facts_.chats.messages);
    return {.step_seconds = trial.step_seconds, .epoch_steps = kChatPadding * (text + markup) / step_tokens};
  }

  /// Returns the cost of the pairs for steps of so many rows, each of two windows. A new model is only tried on its corpus.
  StageCost cost_of_pairs(const StageTrial& trial, const Size& size, index rows) const {
    if (wishes_.pairs.empty()) {
      return {};
    }
    const double share = 2 * static_cast<double>(rows) / static_cast<double>(size.batch_size);
    return {.step_seconds = trial.step_seconds * share * kPreferenceCost * kReferenceCost,
            .epoch_steps = static_cast<double>(facts_.pairs.bytes) / trial.bytes_per_token / (size.step_tokens() * share)};
  }

  /// Returns what is left of the time for training.
  double time_left(double others) {
    const double left = wishes_.seconds - measure_.seconds() - others - kEndSeconds - kEndShare * wishes_.seconds;
    require_input(left > 0, "--time is ", clock_time(wishes_.seconds), ", but reading the texts and evaluating takes ",
                  clock_time(wishes_.seconds - left), ": give a longer --time");
    return left;
  }

  void add_chats(const Tuning& tuning, std::optional<StageKind> after, index steps, const StageCost& cost) {
    if (steps == 0) {
      return;
    }
    Edits edits = tuning.chats();
    if (figures_.has_held_out_chats) {
      edits.emplace_back("data.validation", std::vector<std::string>{kHeldOutChats});
    }
    figures_.chat_epochs = static_cast<double>(steps) / cost.epoch_steps;
    add_stage(StageKind::chats, {kLearnedChats}, after, std::move(edits), steps, cost.step_seconds);
    plan_.tasks = figures_.asked > 0 ? kTasks : "";
  }

  /// Adds the preference stage. The reference model scores every example before the first step, so the plan leaves out examples that no
  /// step would read.
  void add_preferences(const Tuning& tuning, std::optional<StageKind> after, index steps, const StageCost& cost) {
    if (steps == 0) {
      return;
    }
    plan_.learned_pairs = static_cast<index>(
        std::ceil(static_cast<double>(facts_.pairs.examples) * std::min(1.0, static_cast<double>(steps) / cost.epoch_steps)));
    add_stage(StageKind::preferences, {kLearnedPairs}, after, tuning.preferences(), steps, cost.step_seconds);
  }

  void add_stage(StageKind kind, std::vector<std::string> corpus, std::optional<StageKind> after, Edits edits, index steps,
                 double step_seconds) {
    plan_.stages.push_back({.kind = kind,
                            .corpus = std::move(corpus),
                            .after = after,
                            .edits = joined({edits, length_of(steps, step_seconds)}),
                            .steps = steps,
                            .seconds = static_cast<double>(steps) * step_seconds});
  }

  const Wishes& wishes_;
  const Facts& facts_;
  Measure& measure_;
  Plan plan_;
  PlanFigures figures_;
};

}  // namespace

double PlanFigures::expected_seconds(const Plan& plan) const {
  double seconds = reading_seconds + question_seconds + planning_seconds;
  for (const Stage& stage : plan.stages) {
    seconds += stage.seconds;
  }
  return seconds;
}

PlanOutline make_plan(const Wishes& wishes, const Facts& facts, Measure& measure) { return Planner(wishes, facts, measure).make(); }

}  // namespace dikkat::assistant
