#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

using schema::Key;
using schema::Value;

bool is_open(const Value& value) { return std::holds_alternative<std::monostate>(value); }

/// `text_of(key)` for every key, with "[section]" before the first of each section that is not empty.
template <class Text>
std::string by_section(Text&& text_of) {
  std::string all;
  std::string_view section;
  for (const Key& key : schema::keys()) {
    const std::string text = text_of(key);
    if (!text.empty() && key.section != section) {
      section = key.section;
      all += concat(all.empty() ? "" : "\n", '[', section, "]\n");
    }
    all += text;
  }
  return all;
}

/// "n_layer = 4", or as a comment "# min_lr = 1e-4  (learning_rate * min_lr_share)".
std::string assignment(const Key& key, const Config& config, bool derived_is_comment) {
  const Value value = key.get(config);
  if (is_open(value)) {
    return concat("# ", key.name, "  (", key.rule.derived, ")\n");
  }
  if (derived_is_comment && !key.is_set(config)) {
    return concat("# ", key.name, " = ", schema::to_toml(value), "  (", key.rule.derived, ")\n");
  }
  return concat(key.name, " = ", schema::to_toml(value), '\n');
}

/// In the form that parse_config() reads.
std::string groups_text(const Config& config) {
  std::string text;
  for (const ParameterGroup& group : config.optim.groups) {
    const auto line = [&](const char* name, const Value& value) { text += concat(name, " = ", schema::to_toml(value), '\n'); };
    text += "\n[[optim.groups]]\n";
    if (!group.match.empty()) {
      line("match", group.match);
    }
    if (group.role) {
      line("role", std::string(name_of(*group.role)));
    }
    if (group.learning_rate) {
      line("learning_rate", *group.learning_rate);
    }
    if (group.weight_decay) {
      line("weight_decay", *group.weight_decay);
    }
    if (group.frozen) {
      line("frozen", *group.frozen);
    }
  }
  return text;
}

constexpr const char* kAboutGroups = R"(
# Groups of parameters with settings of their own. A group selects parameters by a pattern for their paths (match), by their role (hidden,
# embedding, head, vector), or by both, and sets learning_rate, weight_decay or frozen. If several groups select a parameter, the last one
# that sets a value counts.
# [[optim.groups]]
# match = "h.0.*"
# frozen = true
)";

bool has_effect(const Key& key, const Config& config) { return key.rule.has_effect == nullptr || key.rule.has_effect(config); }

bool is_changed(const Key& key, const Config& config) {
  static const Config defaults;
  return key.is_set(config) && key.get(config) != key.get(defaults);
}

}  // namespace

std::string to_toml(const Config& config) {
  std::string derived;
  for (const Key& key : schema::keys()) {
    if (!key.is_set(config) && !is_open(key.get(config))) {
      derived += concat(derived.empty() ? "" : ", ", '"', key.path(), '"');
    }
  }
  return concat(derived.empty() ? "" : concat("derived = [", derived, "]\n\n"),
                by_section([&](const Key& key) { return assignment(key, config, false); }), groups_text(config));
}

std::string to_recipe(const Config& config) {
  return by_section([&](const Key& key) {
           return has_effect(key, config) || is_changed(key, config) ? assignment(key, config, true) : std::string();
         }) +
         groups_text(config);
}

std::string to_commented_toml(const Config& config) {
  return by_section([&](const Key& key) {
           return concat("\n# ", key.help, "\n# ", key.name, ": ", key.expected(),
                         key.rule.derived.empty() ? "" : "; default: ", key.rule.derived,
                         key.rule.fixed ? "; fixed when the run starts" : "", '\n', assignment(key, config, true));
         }) +
         kAboutGroups + groups_text(config);
}

std::string to_toml_of_changes(const Config& config) {
  return by_section([&](const Key& key) { return is_changed(key, config) ? assignment(key, config, true) : std::string(); }) +
         groups_text(config);
}

std::vector<ConfigDifference> differences(const Config& ours, const Config& theirs, std::string_view section) {
  std::vector<ConfigDifference> found;
  for (const Key& key : schema::keys()) {
    const Value a = key.get(ours), b = key.get(theirs);
    const bool counts = key.section == section && has_effect(key, ours) && has_effect(key, theirs) && !is_open(a) && !is_open(b);
    if (counts && a != b) {
      found.push_back({key.path(), schema::to_toml(a), schema::to_toml(b)});
    }
  }
  if (section == "optim" && ours.optim.groups != theirs.optim.groups) {
    found.push_back({"optim.groups", groups_text(ours), groups_text(theirs)});
  }
  return found;
}

}  // namespace dikkat
