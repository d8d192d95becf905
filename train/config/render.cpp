#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

using schema::Key;

/// "[section]" before the first key of each, `line_of(key)` for every key.
template <class Line>
std::string by_section(Line&& line_of) {
  std::string text;
  std::string_view section;
  for (const Key& key : schema::keys()) {
    if (key.section != section) {
      section = key.section;
      text += concat(text.empty() ? "" : "\n", '[', section, "]\n");
    }
    text += line_of(key);
  }
  return text;
}

std::string assignment(const Key& key, const Config& config) {
  const schema::Value value = key.get(config);
  if (std::holds_alternative<std::monostate>(value)) {
    return concat("# ", key.name, ": ", key.rule.derived.text);
  }
  return concat(key.name, " = ", schema::to_toml(value));
}

std::string default_text(const Key& key) {
  const schema::Value value = key.get(Config{});
  return std::holds_alternative<std::monostate>(value) ? std::string(key.rule.derived.text) : schema::to_toml(value);
}

}  // namespace

std::string to_toml(const Config& config) {
  return by_section([&](const Key& key) { return assignment(key, config) + '\n'; });
}

std::vector<ConfigDifference> differences(const Config& ours, const Config& theirs, std::string_view section) {
  std::vector<ConfigDifference> found;
  for (const schema::Key& key : schema::keys()) {
    if (const schema::Value a = key.get(ours), b = key.get(theirs); key.section == section && a != b) {
      found.push_back({key.path(), schema::to_toml(a), schema::to_toml(b)});
    }
  }
  return found;
}

std::string help_for_keys() {
  return by_section([](const Key& key) {
    return concat("  ", key.name, " (", key.expected(), "; default: ", default_text(key),
                  key.rule.fixed ? "; fixed when the run starts" : "", ")\n      ", key.help, '\n');
  });
}

}  // namespace dikkat
