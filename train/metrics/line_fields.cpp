#include "train/metrics/line_fields.h"

#include <algorithm>
#include <cstdint>

#include "train/metrics/label_table.h"

namespace dikkat::metrics_line {

std::optional<index> step_of(const Json& object) {
  const auto step = object.is_object() ? object.find("step") : object.end();
  const bool is_step = step != object.end() && step->is_number_integer() &&
                       !(step->is_number_unsigned() && step->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<index>::max()});
  return is_step ? std::optional(step->get<index>()) : std::nullopt;
}

double number_in(const Json& object, const char* name) {
  const auto number = object.find(name);
  return number != object.end() && number->is_number() ? number->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_in(const Json& object, const char* name) {
  const auto text = object.find(name);
  return text != object.end() && text->is_string() ? text->get<std::string>() : "";
}

index count_in(const Json& object, const char* name) {
  constexpr double kMost = 9007199254740992;
  const double number = number_in(object, name);
  return number >= 0 && number <= kMost ? static_cast<index>(number) : 0;
}

bool is_event(const Json& object, std::string_view name) {
  const auto event = object.find("event");
  return event != object.end() && *event == name;
}

Provenance provenance_in(const Json& object) {
  Provenance by{.date = text_in(object, "date"),
                .version = text_in(object, "version"),
                .commit = text_in(object, "commit"),
                .host = text_in(object, "host"),
                .processor = text_in(object, "processor"),
                .threads = static_cast<int>(std::min<index>(count_in(object, "threads"), std::numeric_limits<int>::max()))};
  if (const auto command = object.find("command"); command != object.end() && command->is_array()) {
    for (const Json& word : *command) {
      by.command.push_back(word.is_string() ? word.get<std::string>() : "");
    }
  }
  return by;
}

LossFingerprint scored_in(const Json& object) {
  const auto scored = object.find("scored");
  return scored == object.end() || !scored->is_object()
             ? LossFingerprint()
             : LossFingerprint{
                   .targets = text_in(*scored, "targets"), .contexts = text_in(*scored, "contexts"), .text = text_in(*scored, "text")};
}

Metrics metrics_in(const Json& object, std::span<const std::string_view> own) {
  Metrics metrics;
  for (const auto& [name, value] : object.items()) {
    if ((value.is_number() || value.is_null()) && std::ranges::find(own, name) == own.end()) {
      metrics.push_back({.name = name, .value = number_in(object, name.c_str())});
    }
  }
  return metrics;
}

Metrics step_metrics_in(const Json& object) {
  static constexpr std::string_view kOwn[] = {"step",         "loss",        "grad_norm",        "learning_rate", "skipped", "tokens", "ms",
                                              "optimizer_ms", "exchange_ms", "exchange_wait_ms", "tokens_per_s",  "mfu",     "time"};
  return metrics_in(object, kOwn);
}

namespace {

Settings settings_in(const Json& object) {
  Settings settings;
  if (const auto list = object.find("settings"); list != object.end() && list->is_object()) {
    for (const auto& [name, value] : list->items()) {
      settings.emplace_back(name, value.is_string() ? value.get<std::string>() : "");
    }
  }
  return settings;
}

}  // namespace

RunHeader header_in(const Json& object, index step) {
  return {.provenance = provenance_in(object),
          .step = step,
          .parameters = count_in(object, "parameters"),
          .tokenizer = text_in(object, "tokenizer"),
          .vocab_size = count_in(object, "vocab_size"),
          .train_tokens = count_in(object, "train_tokens"),
          .val_tokens = count_in(object, "val_tokens"),
          .corpus = text_in(object, "corpus"),
          .bytes_per_token = number_in(object, "bytes_per_token"),
          .settings = settings_in(object)};
}

EvaluationReport evaluation_in(const Json& object, index step) {
  static constexpr std::string_view kOwn[] = {"step", "train_loss", "val_loss", "val_standard_error", "end_probability",
                                              "ms",   "memory",     "time"};
  EvaluationReport report{.step = step,
                          .train_loss = number_in(object, "train_loss"),
                          .val_loss = number_in(object, "val_loss"),
                          .val_standard_error = number_in(object, "val_standard_error"),
                          .end_probability = number_in(object, "end_probability"),
                          .seconds = number_in(object, "ms") / 1e3,
                          .memory = count_in(object, "memory"),
                          .metrics = metrics_in(object, kOwn),
                          .decided_by = text_in(object, "decided_by"),
                          .scored = scored_in(object)};
  if (report.decided_by.empty() && object.contains("rewards_accuracy")) {  // an earlier version did not write it
    report.decided_by = "rewards_accuracy";
  }
  if (const auto table = object.find("table"); table != object.end()) {
    report.table = label_table_of(*table);
  }
  if (const auto losses = object.find("losses"); losses != object.end() && losses->is_array()) {
    for (const Json& one : *losses) {
      if (one.is_object()) {
        report.losses.push_back({.name = text_in(one, "name"),
                                 .loss = number_in(one, "loss"),
                                 .standard_error = number_in(one, "standard_error"),
                                 .epochs = number_in(one, "epochs"),
                                 .scored = scored_in(one)});
      }
    }
  }
  return report;
}

}  // namespace dikkat::metrics_line
