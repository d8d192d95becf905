#include "train/assistant/plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kPlanFormat = 1;
constexpr double kTokensPerParameter = 8;
constexpr index kParametersPerByte = 4;
constexpr double kFewestStageSteps = 8;

// The models to choose from, in rising order. Heads have 32 or 64 columns.
constexpr AssistantSize kSizes[] = {
    {.n_layer = 2, .n_embd = 64, .n_head = 2, .block_size = 256, .batch_size = 8},
    {.n_layer = 3, .n_embd = 96, .n_head = 3, .block_size = 256, .batch_size = 8},
    {.n_layer = 4, .n_embd = 128, .n_head = 4, .block_size = 256, .batch_size = 16},
    {.n_layer = 4, .n_embd = 192, .n_head = 3, .block_size = 512, .batch_size = 8},
    {.n_layer = 4, .n_embd = 256, .n_head = 4, .block_size = 1024, .batch_size = 4},
    {.n_layer = 6, .n_embd = 320, .n_head = 5, .block_size = 1024, .batch_size = 4},
    {.n_layer = 8, .n_embd = 384, .n_head = 6, .block_size = 1024, .batch_size = 8},
    {.n_layer = 8, .n_embd = 512, .n_head = 8, .block_size = 1024, .batch_size = 8},
    {.n_layer = 12, .n_embd = 640, .n_head = 10, .block_size = 1024, .batch_size = 16},
    {.n_layer = 12, .n_embd = 768, .n_head = 12, .block_size = 1024, .batch_size = 32},
};

OrderedJson answers_of(const std::string& tasks) { return tasks.empty() ? OrderedJson() : parse_json<OrderedJson>(tasks); }

std::string text_of_answers(const nlohmann::json& tasks) { return tasks.is_null() ? std::string() : json_text(tasks); }

OrderedJson json_of(const AssistantPlan& plan) {
  OrderedJson stages = OrderedJson::array();
  for (const AssistantStage& stage : plan.stages) {
    stages.push_back({{"name", stage.name},
                      {"corpus", stage.corpus},
                      {"from", stage.from},
                      {"settings", stage.settings},
                      {"steps", stage.steps},
                      {"seconds", stage.seconds},
                      {"took", stage.took},
                      {"done", stage.done},
                      {"tasks", answers_of(stage.tasks)}});
  }
  return {{"format", kPlanFormat},
          {"corpus", plan.corpus},
          {"chats", plan.chats},
          {"pairs", plan.pairs},
          {"from", plan.from},
          {"name", plan.name},
          {"seconds", plan.seconds},
          {"table", plan.table},
          {"tasks", plan.tasks},
          {"longest_question", plan.longest_question},
          {"learnt_pairs", plan.learned_pairs},
          {"before", answers_of(plan.before)},
          {"stages", stages}};
}

/// Returns the whole steps of a stage that may take `seconds`, and read its text `epochs` times.
double steps_of(const StageCost& cost, double seconds, double epochs) {
  return std::floor(std::min(seconds / cost.step_seconds, std::max(kFewestStageSteps, std::ceil(epochs * cost.epoch_steps))));
}

}  // namespace

index AssistantSize::parameters(index vocab_size) const { return 12 * n_layer * n_embd * n_embd + vocab_size * n_embd; }

double AssistantSize::flops_per_token(index vocab_size) const {
  return 6.0 * static_cast<double>(parameters(vocab_size)) + 6.0 * static_cast<double>(n_layer * n_embd * block_size);
}

index vocabulary_for(index bytes) {
  struct Limit {
    index bytes, vocab_size;
  };
  constexpr Limit kLimits[] = {{300'000, 512}, {1'000'000, 1024}, {4'000'000, 2048}, {30'000'000, 4096}};
  const auto* const limit = std::ranges::find_if(kLimits, [&](const Limit& one) { return bytes < one.bytes; });
  return limit == std::end(kLimits) ? 8192 : limit->vocab_size;
}

AssistantSize size_for(double seconds, double flops, index vocab_size, index bytes) {
  AssistantSize best = kSizes[0];
  for (const AssistantSize& size : kSizes) {
    const index parameters = size.parameters(vocab_size);
    const double tokens = seconds * flops / size.flops_per_token(vocab_size);
    if (tokens >= kTokensPerParameter * static_cast<double>(parameters) && parameters / kParametersPerByte <= bytes) {
      best = size;
    }
  }
  return best;
}

StageSteps share_time(double seconds, const StageCost& pretrain, const StageCost& chats, const StageCost& preferences) {
  constexpr double kChatEpochs = 20, kChatShare = 1.0 / 6, kManyChatsShare = 1.0 / 3;
  constexpr double kPreferenceEpochs = 3, kPreferenceShare = 1.0 / 8;
  const bool has_pretraining = pretrain.step_seconds > 0, has_chats = chats.step_seconds > 0, has_pairs = preferences.step_seconds > 0;
  double left = seconds;
  StageSteps steps;
  const auto take = [&](const StageCost& cost, double share, double epochs) {
    const double count = steps_of(cost, share, epochs);
    require_input(count >= kFewestStageSteps,
                  fmt::format("--time leaves {:.0f} seconds for a stage whose step takes {:.2g} seconds, expected time for {:.0f} steps or "
                              "more: give a longer --time, or a smaller model",
                              std::max(0.0, share), cost.step_seconds, kFewestStageSteps));
    left -= count * cost.step_seconds;
    return static_cast<index>(count);
  };
  if (has_pairs) {
    steps.preferences = take(preferences, has_pretraining || has_chats ? kPreferenceShare * seconds : seconds, kPreferenceEpochs);
  }
  if (has_chats) {
    const double epoch = chats.epoch_steps * chats.step_seconds;
    const double share = has_pretraining ? std::clamp(epoch, kChatShare * seconds, kManyChatsShare * seconds) : left;
    steps.chats = take(chats, share, kChatEpochs);
  }
  if (has_pretraining) {
    constexpr double kNoLimit = 1e9;
    steps.pretrain = take({.step_seconds = pretrain.step_seconds, .epoch_steps = 1}, left, kNoLimit);
  }
  return steps;
}

std::filesystem::path assistant_file(const std::filesystem::path& folder) { return folder / "assistant.json"; }

bool is_assistant(const std::filesystem::path& folder) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(assistant_file(folder), unknown);
}

void write_plan(const std::filesystem::path& folder, const AssistantPlan& plan) {
  replace_file(assistant_file(folder), json_text(json_of(plan), 1) + '\n');
}

std::string plan_as_json(const AssistantPlan& plan) { return json_text(json_of(plan)); }

AssistantPlan read_plan(const std::filesystem::path& folder) {
  const std::filesystem::path file = assistant_file(folder);
  const auto object = try_json(read_bytes(file));
  const auto format = object && object->is_object() ? object->find("format") : nlohmann::json::const_iterator();
  require_input(object && object->is_object() && format != object->end() && *format == kPlanFormat, file.string(),
                " is not the plan of an assistant, expected a JSON object with \"format\": ", kPlanFormat, "; choose another --out");
  try {
    AssistantPlan plan{.corpus = object->at("corpus"),
                       .chats = object->at("chats"),
                       .pairs = object->at("pairs"),
                       .from = object->at("from"),
                       .name = object->at("name"),
                       .seconds = object->at("seconds"),
                       .table = object->at("table"),
                       .tasks = object->at("tasks"),
                       .longest_question = object->at("longest_question"),
                       .learned_pairs = object->value("learnt_pairs", index{0}),
                       .before = text_of_answers(object->at("before"))};
    for (const auto& stage : object->at("stages")) {
      plan.stages.push_back({.name = stage.at("name"),
                             .corpus = stage.at("corpus"),
                             .from = stage.at("from"),
                             .settings = stage.at("settings"),
                             .steps = stage.at("steps"),
                             .seconds = stage.at("seconds"),
                             .took = stage.at("took"),
                             .done = stage.at("done"),
                             .tasks = text_of_answers(stage.at("tasks"))});
    }
    require_input(!plan.stages.empty(), file.string(), " has no stages; choose another --out");
    return plan;
  } catch (const nlohmann::json::exception&) {
    fail_input(file.string(), " is damaged: a member is missing or has another type; restore the file, or choose another --out");
  }
}

}  // namespace dikkat
