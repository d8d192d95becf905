#include "train/cli/eval_labels.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/metrics/label_table.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/classify_scorer.h"

namespace dikkat {
namespace {

/// Prints a table with right-aligned columns. The first column of `rows` is text.
void print_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      line += fmt::format("  {:>{}}", row[i], widths[i]);
    }
    print_result(line + '\n');
  }
}

void print_label_table(const LabelTable& table) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string>& header = rows.emplace_back();
  if (table.several) {
    header = {"label", "right", "missed", "wrong"};
  } else {
    header = {"label \\ given"};
    for (const std::string& label : table.labels) {
      header.push_back(for_terminal(label));
    }
  }
  for (index row = 0; row < std::ssize(table.labels); ++row) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(for_terminal(table.labels[static_cast<std::size_t>(row)]));
    for (index column = 0; column < table.columns(); ++column) {
      cells.push_back(grouped_digits(table.at(row, column)));
    }
  }
  print_columns(rows);
}

}  // namespace

int eval_labels(const TrainedModel& trained, const Dataset& texts, const std::string& name, bool json) {
  ClassifyScorer scorer(*trained.model, trained.config.classify);
  Evaluator evaluator(scorer);
  ShareLine line("evaluating");
  const auto result = evaluator(*texts.evaluation(), {}, stop_requested, std::ref(line));
  if (!result) {
    print_message("stopped before the end: an unfinished evaluation gives no result");
    return 128 + stop_signal();
  }
  require(std::isfinite(result->loss), trained.origin.path().string(), ": the loss is ", result->loss,
          ", expected a number: the model's finite weights give infinite activations");
  if (json) {
    nlohmann::ordered_json object{{"texts", result->tokens}, {"loss", result->loss}, {"standard_error", result->standard_error}};
    for (const Metric& metric : result->metrics) {
      object[metric.name] = metric.value;
    }
    if (!result->table.empty()) {
      object["table"] = to_json(result->table);
    }
    object["step"] = trained.origin.state().step;
    object["checkpoint"] = trained.origin.path().string();
    print_json(object);
    flush_results();
    return 0;
  }
  print_message(for_terminal(concat(trained.origin.path().string(), ", ", name)));
  const auto row = [](const std::string& what, const std::string& value) { print_result(fmt::format("{:<19}{}\n", what, value)); };
  row("texts", grouped_digits(result->tokens));
  for (const Metric& metric : result->metrics) {
    row(metric.name, fmt::format("{:.4f}", metric.value));
  }
  row("loss",
      fmt::format("{:.4f}{}", result->loss, std::isnan(result->standard_error) ? "" : fmt::format(" +- {:.4f}", result->standard_error)));
  if (!result->table.empty()) {
    print_result("\n");
    print_label_table(result->table);
  }
  flush_results();
  return 0;
}

}  // namespace dikkat
