#include "train/config/override.h"

#include <charconv>
#include <cmath>

#include "autograd/base/error.h"
#include "train/config/advice.h"
#include "train/config/reading.h"

namespace dikkat {
namespace schema {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Reads a number that is all of the text. Returns false if it is not one, or does not fit its type.
template <class Number>
bool read_whole(std::string_view text, Number& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) {
    text.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Reading rejected(const Setting& key, std::string_view text) { return {.value = {}, .problem = key.mismatch(in_quotes(text))}; }
Reading accepted(const Setting& key, Value value) {
  std::string problem = key.problem_with(value);
  return {.value = std::move(value), .problem = std::move(problem)};
}

Reading read_boolean(const Setting& key, std::string_view text) {
  return text == "true" || text == "false" ? accepted(key, text == "true") : rejected(key, text);
}

Reading read_integer(const Setting& key, std::string_view text) {
  index value = 0;
  return read_whole(text, value) ? accepted(key, value) : rejected(key, text);
}

Reading read_number(const Setting& key, std::string_view text) {
  double value = 0;
  return read_whole(text, value) && std::isfinite(value) ? accepted(key, value) : rejected(key, text);
}

bool is_quoted(std::string_view text) { return text.starts_with('"') || text.starts_with('\''); }

Reading read_list(const Setting& key, std::string_view text) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return accepted(key, items);
    }
    text.remove_prefix(comma + 1);
  }
}

Reading read_numbers(const Setting& key, std::string_view text) {
  std::vector<double> items;
  const Reading list = read_list(Setting{.section = key.section, .name = key.name, .type = Type::list}, text);
  for (const std::string& item : std::get<std::vector<std::string>>(list.value)) {
    double number = 0;
    if (!read_whole(item, number)) {
      return rejected(key, text);
    }
    items.push_back(number);
  }
  return accepted(key, items);
}

}  // namespace

Reading read_text(const Setting& key, std::string_view text) {
  text = trimmed(text);
  switch (key.type) {
    case Type::boolean: return read_boolean(key, text);
    case Type::integer: return read_integer(key, text);
    case Type::number: return read_number(key, text);
    case Type::text: return is_quoted(text) ? read_toml(key, text) : accepted(key, std::string(text));
    case Type::list: return text.starts_with('[') ? read_toml(key, text) : read_list(key, text);
    case Type::numbers: return text.starts_with('[') ? read_toml(key, text) : read_numbers(key, text);
    case Type::unset: break;
  }
  fail("read_text: ", key.path(), " has no type");
}

}  // namespace schema

std::string key_of_override(std::string_view assignment) {
  return std::string(schema::trimmed(assignment.substr(0, assignment.find('='))));
}

void apply_override(Config& config, std::string_view assignment, RunStage stage) {
  const auto bad = [&](const auto&... parts) { fail_input("--set ", schema::in_quotes(assignment), ": ", parts...); };
  const std::size_t equals = assignment.find('=');
  const std::string_view path = schema::trimmed(assignment.substr(0, equals));
  if (equals == std::string_view::npos || path.empty()) {
    bad("expected section.key=value, for example train.max_steps=500");
  }
  const std::size_t dot = path.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : path.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  const schema::Key* key = schema::find_key(section, name);
  if (key == nullptr) {
    if (schema::is_retired(section, name) && schema::trimmed(assignment.substr(equals + 1)).empty()) {
      return;
    }
    bad(schema::unknown_key(section, name));
  }
  const schema::Reading reading = schema::read_text(*key, assignment.substr(equals + 1));
  if (!reading.problem.empty()) {
    bad(reading.problem);
  }
  if (stage == RunStage::continues && key->rule.fixed && reading.value != key->get(config)) {
    bad("a run keeps its ", key->path(), ", which is ", schema::to_toml(key->get(config)), "; start a new run to change it");
  }
  key->set(config, reading.value);
}

}  // namespace dikkat
