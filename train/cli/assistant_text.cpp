#include "train/cli/assistant_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

/// Returns the best loss of a stage's run, "2.345 at step 300"; "-" if there is none.
std::string loss_of(const fs::path& run) {
  HistoryReader reader(run);
  reader.update();
  const RunHistory::Evaluation* const best = reader.history().best();
  return best == nullptr ? "-" : fmt::format("{:.4f} at step {}", best->report.val_loss, best->report.step);
}

/// Returns the tables of a report: the stages, and the answers to held-out questions.
std::vector<ReportTable> tables_of(const AssistantPlan& plan) {
  ReportTable stages{.title = "Stages", .columns = {"stage", "steps", "expected", "took"}, .rows = {}};
  ReportTable answers{.title = "Answers to held-out questions, with 95 % intervals", .columns = {"after"}, .rows = {}};
  for (const KindOfTask& kind : kKinds) {
    answers.columns.emplace_back(kind.what);
  }
  const auto add_answers = [&](const std::string& name, const std::string& tasks) {
    std::vector<std::string> row = {name};
    for (const KindOfTask& kind : kKinds) {
      row.push_back(share_text(tasks, kind.key));
    }
    answers.rows.push_back(std::move(row));
  };
  if (!plan.from.empty()) {
    add_answers("nothing", plan.before);
  }
  for (const AssistantStage& stage : plan.stages) {
    stages.rows.push_back({stage.name, grouped_digits(stage.steps), clock_time(stage.seconds), stage.done ? clock_time(stage.took) : "-"});
    add_answers(stage.name, stage.tasks);
  }
  return plan.tasks.empty() ? std::vector{stages} : std::vector{stages, answers};
}

/// Formats a table whose columns are as wide as their longest cell.
std::string text_of(const ReportTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.columns) {
    widths.push_back(name.size());
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      text += fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += '\n';
  };
  add(table.columns);
  std::ranges::for_each(table.rows, add);
  return text;
}

/// Formats a table in Markdown.
std::string markdown_of(const ReportTable& table) {
  std::string text = concat("## ", table.title, "\n\n| ", fmt::to_string(fmt::join(table.columns, " | ")), " |\n|---|");
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    text += "--:|";
  }
  for (const auto& row : table.rows) {
    text += fmt::format("\n| {} |", fmt::join(row, " | "));
  }
  return text + "\n\n";
}

}  // namespace

std::string report_text(const AssistantPlan& plan) {
  std::string text;
  for (const ReportTable& table : tables_of(plan)) {
    text += concat(text.empty() ? "" : "\n", text_of(table));
  }
  return text;
}

fs::path write_assistant_report(const fs::path& folder, const AssistantPlan& plan) {
  std::vector<RunView> runs;
  ReportTable losses{.title = "Losses, over each stage's own texts", .columns = {"stage", "lowest validation loss"}, .rows = {}};
  for (const AssistantStage& stage : plan.stages) {
    const fs::path run = folder / stage.name;
    if (is_there(run / "metrics.jsonl")) {
      runs.push_back(view_run(run));
      losses.rows.push_back({stage.name, loss_of(run)});
    }
  }
  require_input(!runs.empty(), folder.string(), " has no stage that has begun: continue it with `dikkat resume ", folder.string(), "`");
  const std::vector<ReportTable> tables = tables_of(plan);
  std::string text = concat("# ", plan.name, "\n\n## The plan\n\n```\n", plan.table, "```\n\n");
  for (const ReportTable& table : tables) {
    text += markdown_of(table);
  }
  replace_file(folder / "report.md", text + markdown_of(losses));
  const fs::path page = folder / "report.html";
  write_page(page, report_page(runs, false, tables));
  return page;
}

}  // namespace dikkat
