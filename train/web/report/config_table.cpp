#include "train/web/report/config_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/config/key_effect.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/config/tables.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

using schema::Key;
using schema::Value;

/// Returns the text of a value, with numbers rounded for people: 0.0003 for a computed 0.00030000000000000003.
std::string shown(const Value& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr ? fmt::format("{:.6g}", *number) : schema::to_toml(value);
}

/// Returns the text of a table in a list, such as: name = "stories", weight = 3.
std::string shown(const schema::Table& list, const Config& config, std::size_t item) {
  std::string text;
  for (const schema::TableKey& key : list.keys) {
    if (const Value value = key.get(config, item); !std::holds_alternative<std::monostate>(value)) {
      text += concat(text.empty() ? "" : ", ", key.name, " = ", shown(value));
    }
  }
  return text;
}

/// Returns `config` with a recorded change applied.
Config changed(const Config& config, const RunHistory::Event& change) {
  const std::size_t dot = change.key.find('.');
  if (dot == std::string::npos || schema::find_table(change.key.substr(0, dot), change.key.substr(dot + 1)) != nullptr) {
    return config;
  }
  return parse_config(concat('[', change.key.substr(0, dot), "]\n", change.key.substr(dot + 1), " = ", change.after, '\n'), "metrics.jsonl",
                      config);
}

/// Sets optim.decay_steps if the configuration leaves it open. It is the train.max_steps with which the run was started, even if a resume
/// has changed max_steps.
void derive_decay_steps(Config& config, const RunHistory& history) {
  const auto first = std::ranges::find_if(
      history.events, [](const RunHistory::Event& event) { return event.kind == "change" && event.key == "train.max_steps"; });
  if (first != history.events.end() && config.optim.decay_steps.is_open()) {
    config.optim.decay_steps.derive(
        parse_config(concat("[train]\nmax_steps = ", first->before, '\n'), "metrics.jsonl", config).train.max_steps);
  }
}

/// Returns the settings of a run of a program's own loop, which has no config.toml, with the changes of later starts.
ConfigTable settings_table(const RunHistory& history) {
  ConfigTable table;
  for (const auto& [name, value] : history.header->settings) {
    table.rows.push_back({.key = name, .value = value, .changed = true});
  }
  for (const RunHistory::Event& event : history.events) {
    if (event.kind == "change") {
      const auto row = std::ranges::find(table.rows, event.key, &ConfigRow::key);
      if (row != table.rows.end()) {
        row->value = event.after;
      } else {
        table.rows.push_back({.key = event.key, .value = event.after, .changed = true});
      }
    }
  }
  return table;
}

}  // namespace

ConfigTable read_config_table(const std::filesystem::path& run_directory, const RunHistory& history) {
  static const Config defaults;
  ConfigTable table;
  try {
    if (is_of_own_loop(history) && !is_there(run_directory / "config.toml")) {
      return settings_table(history);
    }
    // Load the configuration, apply the recorded changes, and fill in derived values.
    Config config = load_config(run_directory / "config.toml", defaults_of_runs());
    derive_decay_steps(config, history);
    for (const RunHistory::Event& event : history.events) {
      if (event.kind == "change") {
        config = changed(config, event);
      }
    }
    if (history.header && history.header->vocab_size > 0) {
      config.model.vocab_size.derive(history.header->vocab_size);
    }
    resolve(config);
    // List keys that were changed or have an effect, then the lists of tables.
    for (const Key& key : schema::keys()) {
      const Value value = key.get(config);
      const bool is_changed = key.is_set(config) && value != key.get(defaults);
      if (!std::holds_alternative<std::monostate>(value) && (is_changed || schema::has_effect(key, config))) {
        table.rows.push_back({.key = key.path(), .value = shown(value), .changed = is_changed});
      }
    }
    for (const schema::Table& list : schema::tables()) {
      for (std::size_t item = 0; item < list.size(config); ++item) {
        table.rows.push_back({.key = list.path(), .value = shown(list, config, item), .changed = true});
      }
    }
  } catch (const Error& error) {
    table.problem = error.what();
  }
  return table;
}

}  // namespace dikkat
