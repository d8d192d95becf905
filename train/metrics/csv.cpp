#include "train/metrics/csv.h"

#include <cmath>

#include <fmt/format.h>

namespace dikkat {
namespace {

/// "1.5,"; "," for NaN and infinity.
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

}  // namespace

std::string to_csv(const RunHistory& history) {
  std::string table =
      "step,loss,grad_norm,learning_rate,skipped,tokens,ms,optimizer_ms,tokens_per_s,mfu,train_loss,val_loss,val_standard_error,eval_ms,memory,time\r\n";
  const auto row = [&](index step, const RunHistory::Step* trained, const RunHistory::Evaluation* evaluated) {
    const double time = evaluated != nullptr ? evaluated->time : trained->time;
    table += fmt::format("{},{}{}{}\r\n", step, cells_of(trained), cells_of(evaluated), std::isfinite(time) ? fmt::to_string(time) : "");
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
