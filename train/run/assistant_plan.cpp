#include "train/run/assistant_plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPlanFormat = 1;
constexpr double kTokensPerParameter = 15;
constexpr index kParametersPerToken = 4;

// Sizes that `dikkat assistant` chooses from, in rising order. Heads have 32 or 64 columns.
constexpr AssistantSize kSizes[] = {
    {.n_layer = 3, .n_embd = 64, .n_head = 2, .block_size = 128, .batch_size = 8},
    {.n_layer = 4, .n_embd = 128, .n_head = 4, .block_size = 128, .batch_size = 16},
    {.n_layer = 5, .n_embd = 192, .n_head = 3, .block_size = 256, .batch_size = 16},
    {.n_layer = 6, .n_embd = 256, .n_head = 4, .block_size = 256, .batch_size = 16},
    {.n_layer = 6, .n_embd = 320, .n_head = 5, .block_size = 256, .batch_size = 16},
    {.n_layer = 8, .n_embd = 384, .n_head = 6, .block_size = 512, .batch_size = 16},
    {.n_layer = 8, .n_embd = 512, .n_head = 8, .block_size = 512, .batch_size = 16},
    {.n_layer = 12, .n_embd = 640, .n_head = 10, .block_size = 512, .batch_size = 32},
    {.n_layer = 12, .n_embd = 768, .n_head = 12, .block_size = 1024, .batch_size = 32},
};

}  // namespace

index AssistantSize::parameters(index vocab_size) const { return 12 * n_layer * n_embd * n_embd + vocab_size * n_embd; }

double AssistantSize::flops_per_token(index vocab_size) const {
  return 6.0 * static_cast<double>(parameters(vocab_size)) + 6.0 * static_cast<double>(n_layer * n_embd * block_size);
}

index vocabulary_for(index bytes) {
  struct Step {
    index bytes, vocab_size;
  };
  constexpr Step kSteps[] = {{100'000, 512}, {500'000, 1024}, {2'000'000, 2048}, {20'000'000, 4096}};
  for (const Step& step : kSteps) {
    if (bytes < step.bytes) {
      return step.vocab_size;
    }
  }
  return 8192;
}

AssistantSize size_for(double seconds, double flops, index vocab_size, index corpus_tokens) {
  AssistantSize best = kSizes[0];
  for (const AssistantSize& size : kSizes) {
    const index parameters = size.parameters(vocab_size);
    const double tokens = seconds * flops / size.flops_per_token(vocab_size);
    if (tokens >= kTokensPerParameter * static_cast<double>(parameters) && parameters <= kParametersPerToken * corpus_tokens) {
      best = size;
    }
  }
  return best;
}

std::filesystem::path assistant_file(const std::filesystem::path& folder) { return folder / "assistant.json"; }

void write_plan(const std::filesystem::path& file, const AssistantPlan& plan) {
  Json stages = Json::array();
  for (const AssistantStage& stage : plan.stages) {
    stages.push_back({{"name", stage.name},
                      {"recipe", stage.recipe},
                      {"data", stage.data},
                      {"from", stage.from},
                      {"settings", stage.settings},
                      {"epochs", stage.epochs},
                      {"seconds", stage.seconds},
                      {"done", stage.done}});
  }
  replace_file(file, json_text(Json{{"format", kPlanFormat}, {"command", plan.command}, {"summary", plan.summary}, {"stages", stages}}) + '\n');
}

AssistantPlan read_plan(const std::filesystem::path& file) {
  const auto object = try_json(read_bytes(file));
  const bool is_plan = object && object->is_object() && object->value("format", nlohmann::json()) == kPlanFormat;
  require_input(is_plan, file.string(), " is not the plan of an assistant, expected a JSON object with \"format\": ", kPlanFormat,
                "; choose another --out");
  try {
    AssistantPlan plan{.command = object->at("command"), .summary = object->at("summary"), .stages = {}};
    for (const auto& stage : object->at("stages")) {
      plan.stages.push_back({.name = stage.at("name"),
                             .recipe = stage.at("recipe"),
                             .data = stage.at("data"),
                             .from = stage.at("from"),
                             .settings = stage.at("settings"),
                             .epochs = stage.at("epochs"),
                             .seconds = stage.at("seconds"),
                             .done = stage.at("done")});
    }
    return plan;
  } catch (const nlohmann::json::exception&) {
    fail_input(file.string(), " is damaged: a member is missing or has another type; restore the file, or choose another --out");
  }
}

}  // namespace dikkat
