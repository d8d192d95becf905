#include "train/cli/eval_labels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/metrics/label_table.h"

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

void print_labels(const Evaluation& result, const ModelOrigin& origin, bool json) {
  if (json) {
    nlohmann::ordered_json object{{"texts", result.tokens}, {"loss", result.loss}, {"standard_error", result.standard_error}};
    for (const Metric& metric : result.metrics) {
      object[metric.name] = metric.value;
    }
    if (!result.table.empty()) {
      object["table"] = to_json(result.table);
    }
    object["step"] = origin.state().step;
    object["checkpoint"] = origin.path().string();
    return print_json(object);
  }
  const auto row = [](const std::string& what, const std::string& value) { print_result(fmt::format("{:<19}{}\n", what, value)); };
  row("texts", grouped_digits(result.tokens));
  for (const Metric& metric : result.metrics) {
    row(metric.name, fmt::format("{:.4f}", metric.value));
  }
  row("loss",
      fmt::format("{:.4f}{}", result.loss, std::isnan(result.standard_error) ? "" : fmt::format(" +- {:.4f}", result.standard_error)));
  if (!result.table.empty()) {
    print_result("\n");
    print_label_table(result.table);
  }
}

}  // namespace dikkat
