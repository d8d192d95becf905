#include "train/web/report/page_data.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/metrics/label_table.h"
#include "train/system/json.h"
#include "train/web/report/rows_to_draw.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;
using Column = std::vector<double>;

constexpr std::size_t kBuckets = 400;  // pieces of a curve; their lowest and highest values fill a screen's columns

/// Rounds a number to six significant digits; null for NaN and infinity.
Json number(double value) {
  if (!std::isfinite(value)) {
    return {};
  }
  if (value == std::trunc(value) && std::abs(value) < 1e15) {
    return static_cast<std::int64_t>(value);
  }
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

/// Converts a time to whole seconds since 1970.
Json moment(double seconds) { return number(std::floor(seconds)); }

Json column(const Column& values, const std::vector<std::size_t>& rows) {
  Json drawn = Json::array();
  for (const std::size_t row : rows) {
    drawn.push_back(number(values[row]));
  }
  return drawn;
}

/// Returns the exponential moving average of the losses over a small part of the run, corrected for its bias towards 0 at the beginning.
Column smoothed(const Column& losses) {
  constexpr double kFewest = 10;
  const double keep = 1 - 1 / std::max(kFewest, static_cast<double>(losses.size()) / 400);
  Column smooth;
  double sum = 0, weight = 0;
  for (const double loss : losses) {
    if (std::isfinite(loss)) {
      sum = keep * sum + (1 - keep) * loss;
      weight = keep * weight + (1 - keep);
    }
    smooth.push_back(weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN());
  }
  return smooth;
}

/// The tokens and the time that a run had used when each step was done.
struct Progress {
  std::vector<index> steps;
  Column tokens, seconds;  // seconds of training and evaluations, without the time between a stop and a resume

  explicit Progress(const RunHistory& history) {
    double all_tokens = 0, all_seconds = 0;
    auto evaluation = history.evaluations.begin();
    for (const RunHistory::Step& step : history.steps) {
      for (; evaluation != history.evaluations.end() && evaluation->report.step < step.report.step; ++evaluation) {
        all_seconds += std::isfinite(evaluation->report.seconds) ? evaluation->report.seconds : 0;
      }
      all_tokens += static_cast<double>(step.report.tokens);
      all_seconds += std::isfinite(step.report.seconds) ? step.report.seconds : 0;
      steps.push_back(step.report.step);
      tokens.push_back(all_tokens);
      seconds.push_back(all_seconds);
    }
  }

  /// Returns the value of the column at the last step up to this one.
  double at(index step, const Column& column) const {
    const auto after = std::upper_bound(steps.begin(), steps.end(), step);
    return after == steps.begin() ? 0 : column[static_cast<std::size_t>(after - steps.begin()) - 1];
  }
};

/// Adds a column for each metric of an objective: {"metrics": {"rewards_accuracy": [0.5, null, ...]}}.
void add_metrics(const std::vector<const Metrics*>& rows, Json& to) {
  Json columns = Json::object();
  for (const Metrics* row : rows) {
    for (const Metric& metric : *row) {
      columns.emplace(metric.name, Json::array());
    }
  }
  for (auto& [name, column] : columns.items()) {
    for (const Metrics* row : rows) {
      column.push_back(number(value_of(*row, name)));
    }
  }
  to["metrics"] = std::move(columns);
}

Json steps_of(const RunHistory& history, const Progress& progress) {
  std::vector<Column> columns(7);
  for (const RunHistory::Step& one : history.steps) {
    const StepReport& r = one.report;
    const double values[] = {r.loss, r.gradient_norm, r.learning_rate,          r.tokens_per_second(),
                             r.mfu,  r.seconds * 1e3, r.optimizer_seconds * 1e3};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].push_back(values[i]);
    }
  }
  const std::vector<std::size_t> rows = rows_to_draw(std::span(columns).first(4), kBuckets);
  const Column steps(progress.steps.begin(), progress.steps.end());
  Json of{{"step", column(steps, rows)},      {"tokens", column(progress.tokens, rows)},      {"seconds", column(progress.seconds, rows)},
          {"loss", column(columns[0], rows)}, {"smooth", column(smoothed(columns[0]), rows)}, {"norm", column(columns[1], rows)},
          {"rate", column(columns[2], rows)}, {"tokens_per_s", column(columns[3], rows)},     {"mfu", column(columns[4], rows)},
          {"ms", column(columns[5], rows)},   {"optimizer_ms", column(columns[6], rows)}};
  std::vector<const Metrics*> metrics;
  for (const std::size_t row : rows) {
    metrics.push_back(&history.steps[row].report.metrics);
  }
  add_metrics(metrics, of);
  return of;
}

Json evaluations_of(const RunHistory& history, const Progress& progress) {
  Json of{{"step", Json::array()}, {"tokens", Json::array()}, {"seconds", Json::array()}, {"train", Json::array()},
          {"val", Json::array()},  {"error", Json::array()},  {"memory", Json::array()}};
  std::vector<const Metrics*> metrics;
  for (const RunHistory::Evaluation& one : history.evaluations) {
    const EvaluationReport& r = one.report;
    of["step"].push_back(r.step);
    of["tokens"].push_back(number(progress.at(r.step, progress.tokens)));
    of["seconds"].push_back(number(progress.at(r.step, progress.seconds)));
    of["train"].push_back(number(r.train_loss));
    of["val"].push_back(number(r.val_loss));
    of["error"].push_back(number(r.val_standard_error));
    of["memory"].push_back(r.memory > 0 ? Json(r.memory) : Json());
    metrics.push_back(&r.metrics);
    of["decided_by"] = r.decided_by;
  }
  add_metrics(metrics, of);
  return of;
}

/// Returns the table of a classifier's best evaluation, and its step; null if there is none.
Json labels_of(const RunHistory& history) {
  const EvaluationReport* best = nullptr;
  for (const RunHistory::Evaluation& one : history.evaluations) {
    if (!one.report.table.empty() && (best == nullptr || is_better(score_of(one.report), score_of(*best)))) {
      best = &one.report;
    }
  }
  return best == nullptr ? Json() : Json{{"step", best->step}, {"table", to_json(best->table)}};
}

/// Returns the losses of the texts that are reported by name, with a table for each.
Json texts_of(const RunHistory& history, const Progress& progress) {
  Json texts = Json::array();
  for (const RunHistory::Evaluation& one : history.evaluations) {
    for (const NamedLoss& named : one.report.losses) {
      auto text = std::find_if(texts.begin(), texts.end(), [&](const Json& known) { return known["name"] == named.name; });
      if (text == texts.end()) {
        texts.push_back({{"name", named.name}});
        for (const char* empty : {"step", "tokens", "seconds", "loss", "error", "epochs"}) {
          texts.back()[empty] = Json::array();
        }
        text = std::prev(texts.end());
      }
      const index step = one.report.step;
      (*text)["step"].push_back(step);
      (*text)["tokens"].push_back(number(progress.at(step, progress.tokens)));
      (*text)["seconds"].push_back(number(progress.at(step, progress.seconds)));
      (*text)["loss"].push_back(number(named.loss));
      (*text)["error"].push_back(number(named.standard_error));
      (*text)["epochs"].push_back(number(named.epochs));
    }
  }
  return texts;
}

Json saves_of(const RunHistory& history, const Progress& progress) {
  Json of{{"step", Json::array()}, {"tokens", Json::array()}, {"seconds", Json::array()}, {"bytes", Json::array()}};
  for (const RunHistory::Save& save : history.saves) {
    of["step"].push_back(save.step);
    of["tokens"].push_back(number(progress.at(save.step, progress.tokens)));
    of["seconds"].push_back(number(progress.at(save.step, progress.seconds)));
    of["bytes"].push_back(save.bytes);
  }
  return of;
}

Json to_json(const Provenance& by) {
  return {{"date", by.date}, {"version", by.version},     {"commit", by.commit},  {"command", command_line_of(by)},
          {"host", by.host}, {"processor", by.processor}, {"threads", by.threads}};
}

Json events_of(const RunHistory& history, const Progress& progress) {
  Json events = Json::array();
  const auto add = [&](const char* kind, index step, double time, const std::string& text) {
    events.push_back({{"kind", kind},
                      {"step", step},
                      {"tokens", number(progress.at(step, progress.tokens))},
                      {"seconds", number(progress.at(step, progress.seconds))},
                      {"time", moment(time)},
                      {"text", text}});
  };
  for (const RunHistory::Event& e : history.events) {
    const std::string text = e.kind == "change"   ? e.key + " = " + e.after + " (before: " + e.before + ")"
                             : e.kind == "resume" ? fmt::format("on {}, {} threads, dikkat {} ({})", e.provenance.host,
                                                                e.provenance.threads, e.provenance.version, e.provenance.commit)
                                                  : e.reason;
    add(e.kind.c_str(), e.step, e.time, text);
  }
  for (const RunHistory::Step& step : history.steps) {
    if (step.report.skipped) {
      add("skipped", step.report.step, step.time, "the update was skipped: the loss or a gradient was not finite, or the loss was a spike");
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Json& a, const Json& b) { return a["step"] < b["step"]; });
  return events;
}

Json header_of(const RunHeader& header) {
  return {{"by", to_json(header.provenance)},
          {"parameters", header.parameters},
          {"tokenizer", header.tokenizer},
          {"vocab_size", header.vocab_size},
          {"train_tokens", header.train_tokens},
          {"val_tokens", header.val_tokens},
          {"corpus", header.corpus},
          {"bytes_per_token", number(header.bytes_per_token)}};
}

Json to_json(const RunView& run) {
  // Make the lists that need a loop, then the object.
  const Progress progress(run.history);
  Json samples = Json::array();
  for (const RunHistory::Sample& sample : run.history.samples) {
    samples.push_back({{"step", sample.step}, {"prompt", sample.prompt}, {"text", sample.text}});
  }
  Json config = Json::array();
  for (const ConfigRow& row : run.config.rows) {
    config.push_back({{"key", row.key}, {"value", row.value}, {"changed", row.changed}});
  }
  Json checkpoints = Json::array();
  for (const RunView::Checkpoint& one : run.checkpoints) {
    checkpoints.push_back({{"step", one.step}, {"file", one.file}, {"bytes", one.bytes}, {"best", one.best}});
  }
  return {{"name", run.name},
          {"path", run.path.string()},
          {"state", name_of(run.state)},
          {"problem", run.problem},
          {"last_step", run.history.last_step()},
          {"max_steps", run.value_of("train.max_steps")},
          {"bytes", run.bytes},
          {"last_change", moment(run.last_change)},
          {"header", run.history.header ? header_of(*run.history.header) : Json()},
          {"steps", steps_of(run.history, progress)},
          {"evaluations", evaluations_of(run.history, progress)},
          {"texts", texts_of(run.history, progress)},
          {"saves", saves_of(run.history, progress)},
          {"events", events_of(run.history, progress)},
          {"samples", std::move(samples)},
          {"labels", labels_of(run.history)},
          {"config", std::move(config)},
          {"config_problem", run.config.problem},
          {"checkpoints", std::move(checkpoints)}};
}

}  // namespace

std::string report_data(const std::vector<RunView>& runs, bool live, const std::vector<ReportTable>& tables) {
  Json all = Json::array();
  for (const RunView& run : runs) {
    all.push_back(to_json(run));
  }
  Json differences = Json::array();
  for (const KeyOfRuns& one : differing_keys(runs)) {
    differences.push_back({{"key", one.key}, {"values", one.values}});
  }
  Json texts = Json::array();
  for (const ReportTable& table : tables) {
    texts.push_back({{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
  }
  const std::optional<BetterRun> better = better_of(runs);
  const Comparison comparison = compare(runs);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Json data{{"made", moment(std::chrono::duration<double>(now).count())},
                  {"live", live},
                  {"runs", std::move(all)},
                  {"comparison", name_of(comparison)},
                  {"remark", remark_on(comparison, runs)},
                  {"same_text", have_same_text(runs)},
                  {"better", better ? Json(in_words(*better, runs)) : Json()},
                  {"tables", std::move(texts)},
                  {"differences", std::move(differences)}};
  return json_text(data);
}

}  // namespace dikkat
