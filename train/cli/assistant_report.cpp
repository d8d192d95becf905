#include "train/cli/assistant_report.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/cli/text.h"
#include "train/cli/write_page.h"
#include "train/metrics/run_history.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

struct KindOfTask {
  const char* key;
  const char* what;
};
constexpr KindOfTask kKinds[] = {{"choices", "chosen among four"}, {"exact_match", "written exactly"}};

/// "42 of 58 (0.60 to 0.82)"; "-" if that is not known.
std::string share_text(const std::string& tasks, const char* key) {
  const auto object = try_json(tasks);
  const auto* const share = object && object->is_object() ? find_value(*object, key) : nullptr;
  return share == nullptr ? "-"
                          : fmt::format("{} of {} ({:.2f} to {:.2f})", share->value("right", 0), share->value("questions", 0),
                                        share->value("low", 0.0), share->value("high", 0.0));
}

std::string row(const std::string& name, const std::string& tasks) {
  std::string line = fmt::format("{:<12}", name);
  for (const KindOfTask& kind : kKinds) {
    line += fmt::format("  {:<26}", share_text(tasks, kind.key));
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

/// Returns the best loss of a stage's run, "2.345 at step 300"; "-" if there is none.
std::string loss_of(const fs::path& run) {
  HistoryReader reader(run);
  reader.update();
  const RunHistory::Evaluation* const best = reader.history().best();
  return best == nullptr ? "-" : fmt::format("{:.4f} at step {}", best->report.val_loss, best->report.step);
}

}  // namespace

std::string report_text(const AssistantPlan& plan) {
  std::string text = fmt::format("{:<12} {:>9} {:>9} {:>9}\n", "stage", "steps", "expected", "took");
  for (const AssistantStage& stage : plan.stages) {
    text += fmt::format("{:<12} {:>9} {:>9} {:>9}\n", stage.name, grouped_digits(stage.steps), clock_time(stage.seconds),
                        stage.done ? clock_time(stage.took) : "-");
  }
  if (plan.tasks.empty()) {
    return text;
  }
  text += fmt::format("\n{:<12}", "answers");
  for (const KindOfTask& kind : kKinds) {
    text += fmt::format("  {:<26}", kind.what);
  }
  text = text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  if (!plan.before.empty()) {
    text += row("before", plan.before);
  }
  for (const AssistantStage& stage : plan.stages) {
    text += row(stage.name, stage.tasks);
  }
  return text;
}

fs::path write_assistant_report(const fs::path& folder, const AssistantPlan& plan) {
  std::vector<RunView> runs;
  std::string losses = "| stage | lowest validation loss |\n|---|---|\n";
  for (const AssistantStage& stage : plan.stages) {
    const fs::path run = folder / stage.name;
    if (is_there(run / "metrics.jsonl")) {
      runs.push_back(view_run(run));
      losses += concat("| ", stage.name, " | ", loss_of(run), " |\n");
    }
  }
  require_input(!runs.empty(), folder.string(), " has no stage that has begun: continue it with `dikkat resume ", folder.string(), "`");
  replace_file(folder / "report.md", concat("# ", plan.name, "\n\nThe plan:\n\n```\n", plan.table,
                                            "```\n\nWhat happened, with 95 % intervals of the shares:\n\n```\n", report_text(plan),
                                            "```\n\nLosses of different stages are over different texts:\n\n", losses));
  const fs::path page = folder / "report.html";
  write_page(page, report_page(runs));
  return page;
}

}  // namespace dikkat
