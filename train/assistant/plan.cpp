#include "train/assistant/plan.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat::assistant {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kPlanFormat = 1;

OrderedJson answers_of(const std::string& tasks) { return tasks.empty() ? OrderedJson() : parse_json<OrderedJson>(tasks); }

std::string text_of_answers(const nlohmann::json& tasks) { return tasks.is_null() ? std::string() : json_text(tasks); }

/// Returns the edits as the file has them: "section.key=value".
std::vector<std::string> settings_of(const std::vector<ConfigEdit>& edits) {
  std::vector<std::string> settings;
  std::ranges::transform(edits, std::back_inserter(settings), &ConfigEdit::assignment);
  return settings;
}

OrderedJson json_of(const Plan& plan) {
  OrderedJson stages = OrderedJson::array();
  for (const Stage& stage : plan.stages) {
    stages.push_back({{"name", name_of(stage.kind)},
                      {"corpus", stage.corpus},
                      {"from", plan.origin_of(stage)},
                      {"settings", settings_of(stage.edits)},
                      {"steps", stage.steps},
                      {"seconds", stage.seconds},
                      {"took", stage.took},
                      {"done", stage.done},
                      {"tasks", answers_of(stage.tasks)}});
  }
  return {{"format", kPlanFormat},
          {"corpus", plan.wishes.corpus},
          {"chats", plan.wishes.chats},
          {"pairs", plan.wishes.pairs},
          {"from", plan.wishes.from},
          {"name", plan.wishes.name},
          {"seconds", plan.wishes.seconds},
          {"table", plan.table},
          {"tasks", plan.tasks},
          {"longest_question", plan.longest_question},
          {"learnt_pairs", plan.learned_pairs},
          {"before", answers_of(plan.before)},
          {"stages", stages}};
}

[[noreturn]] void fail_damaged(const std::string& file) {
  fail_input(file, " is damaged: a member is missing or has another type; restore the file, or choose another --out");
}

std::vector<ConfigEdit> edits_of(const std::vector<std::string>& settings, const std::string& file) {
  std::vector<ConfigEdit> edits;
  try {
    std::ranges::transform(settings, std::back_inserter(edits), ConfigEdit::read);
  } catch (const InputError& error) {
    fail_input(file, " has a setting that cannot be used: ", error.what());
  }
  return edits;
}

Stage stage_of(const nlohmann::json& json, const Wishes& wishes, const std::string& file) {
  const auto kind = value_named<StageKind>(json.at("name").get<std::string>());
  const std::string from = json.at("from");
  const auto after = value_named<StageKind>(from);
  if (!kind || (!after && from != wishes.from)) {
    fail_damaged(file);
  }
  return {.kind = *kind,
          .corpus = json.at("corpus"),
          .after = after,
          .edits = edits_of(json.at("settings"), file),
          .steps = json.at("steps"),
          .seconds = json.at("seconds"),
          .took = json.at("took"),
          .done = json.at("done"),
          .tasks = text_of_answers(json.at("tasks"))};
}

}  // namespace

const Stage* Plan::find(StageKind kind) const {
  const auto found = std::ranges::find(stages, kind, &Stage::kind);
  return found == stages.end() ? nullptr : &*found;
}

std::string Plan::origin_of(const Stage& stage) const { return stage.after ? std::string(name_of(*stage.after)) : wishes.from; }

std::filesystem::path plan_file(const std::filesystem::path& folder) { return folder / "assistant.json"; }

bool is_assistant(const std::filesystem::path& folder) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(plan_file(folder), unknown);
}

void write_plan(const std::filesystem::path& folder, const Plan& plan) {
  replace_file(plan_file(folder), json_text(json_of(plan), 1) + '\n');
}

std::string plan_as_json(const Plan& plan) { return json_text(json_of(plan)); }

Plan read_plan(const std::filesystem::path& folder) {
  const std::string file = plan_file(folder).string();
  const auto object = try_json(read_bytes(file));
  const auto format = object && object->is_object() ? object->find("format") : nlohmann::json::const_iterator();
  require_input(object && object->is_object() && format != object->end() && *format == kPlanFormat, file,
                " is not the plan of an assistant, expected a JSON object with \"format\": ", kPlanFormat, "; choose another --out");
  try {
    Plan plan{.wishes = {.corpus = object->at("corpus"),
                         .chats = object->at("chats"),
                         .pairs = object->at("pairs"),
                         .from = object->at("from"),
                         .name = object->at("name"),
                         .seconds = object->at("seconds")},
              .table = object->at("table"),
              .tasks = object->at("tasks"),
              .longest_question = object->at("longest_question"),
              .learned_pairs = object->value("learnt_pairs", index{0}),
              .before = text_of_answers(object->at("before"))};
    for (const auto& stage : object->at("stages")) {
      plan.stages.push_back(stage_of(stage, plan.wishes, file));
    }
    require_input(!plan.stages.empty(), file, " has no stages; choose another --out");
    return plan;
  } catch (const nlohmann::json::exception&) {
    fail_damaged(file);
  }
}

}  // namespace dikkat::assistant
