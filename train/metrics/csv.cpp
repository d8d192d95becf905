#include "train/metrics/csv.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "train/system/csv_quoted.h"

namespace dikkat {
namespace {

/// Returns a cell with its comma, such as "1.5,"; only the comma for NaN and infinity.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{},", value) : ","; }

std::string cells_of(const RunHistory::Step* step) {
  if (step == nullptr) {
    return ",,,,,,,,,";
  }
  const StepReport& r = step->report;
  return fmt::format("{}{}{}{},{},{}{}{}{}", cell(r.loss), cell(r.gradient_norm), cell(r.learning_rate), r.skipped ? 1 : 0, r.tokens,
                     cell(r.seconds * 1e3), cell(r.optimizer_seconds * 1e3), cell(r.tokens_per_second()), cell(r.mfu));
}

std::string cells_of(const RunHistory::Evaluation* evaluation) {
  if (evaluation == nullptr) {
    return ",,,,,";
  }
  const EvaluationReport& r = evaluation->report;
  return fmt::format("{}{}{}{}{},", cell(r.train_loss), cell(r.val_loss), cell(r.val_standard_error), cell(r.seconds * 1e3),
                     r.memory > 0 ? fmt::to_string(r.memory) : "");
}

/// Returns the names of the texts with losses of their own, in the order of their first evaluations.
std::vector<std::string> names_of_texts(const RunHistory& history) {
  std::vector<std::string> names;
  for (const RunHistory::Evaluation& one : history.evaluations) {
    for (const NamedLoss& text : one.report.losses) {
      if (std::ranges::find(names, text.name) == names.end()) {
        names.push_back(text.name);
      }
    }
  }
  return names;
}

/// Returns the cells with the loss of each text, such as ",1.5," for two texts of which one was evaluated.
std::string cells_of(const std::vector<std::string>& names, const RunHistory::Evaluation* evaluation) {
  std::string cells;
  for (const std::string& name : names) {
    cells += ',';
    if (evaluation != nullptr) {
      const auto text = std::ranges::find(evaluation->report.losses, name, &NamedLoss::name);
      cells += text != evaluation->report.losses.end() && std::isfinite(text->loss) ? fmt::to_string(text->loss) : "";
    }
  }
  return cells;
}

}  // namespace

std::string to_csv(const RunHistory& history) {
  const std::vector<std::string> names = names_of_texts(history);
  std::string table =
      "step,loss,grad_norm,learning_rate,skipped,tokens,ms,optimizer_ms,tokens_per_s,mfu,train_loss,val_loss,val_standard_error,eval_ms,"
      "memory,time";
  for (const std::string& name : names) {
    table += ',' + csv_quoted("loss of " + name);
  }
  table += "\r\n";
  const auto row = [&](index step, const RunHistory::Step* trained, const RunHistory::Evaluation* evaluated) {
    const double time = evaluated != nullptr ? evaluated->time : trained->time;
    table += fmt::format("{},{}{}{}{}\r\n", step, cells_of(trained), cells_of(evaluated), std::isfinite(time) ? fmt::to_string(time) : "",
                         cells_of(names, evaluated));
  };
  auto evaluation = history.evaluations.begin();
  const auto none_left = [&] { return evaluation == history.evaluations.end(); };
  for (const RunHistory::Step& step : history.steps) {
    for (; !none_left() && evaluation->report.step < step.report.step; ++evaluation) {
      row(evaluation->report.step, nullptr, &*evaluation);
    }
    const bool both = !none_left() && evaluation->report.step == step.report.step;
    row(step.report.step, &step, both ? &*evaluation : nullptr);
    evaluation += both ? 1 : 0;
  }
  for (; !none_left(); ++evaluation) {
    row(evaluation->report.step, nullptr, &*evaluation);
  }
  return table;
}

}  // namespace dikkat
