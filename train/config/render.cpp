#include "train/config/render.h"

#include "autograd/base/error.h"
#include "train/config/key_effect.h"
#include "train/config/schema.h"
#include "train/config/tables.h"

namespace dikkat {
namespace {

using schema::has_effect;
using schema::Key;
using schema::Value;

bool is_open(const Value& value) { return std::holds_alternative<std::monostate>(value); }

/// Returns `text_of(key)` for every key, with "[section]" before the first key of each section that is not empty.
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

/// Returns "n_layer = 4", or as a comment "# min_lr = 1e-4  (learning_rate * min_lr_share)".
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

/// Returns the tables of a list, in the form that parse_config() reads.
std::string text_of(const schema::Table& list, const Config& config) {
  std::string text;
  for (std::size_t item = 0; item < list.size(config); ++item) {
    text += concat("\n[[", list.path(), "]]\n");
    for (const schema::TableKey& key : list.keys) {
      if (const Value value = key.get(config, item); !is_open(value)) {
        text += concat(key.name, " = ", schema::to_toml(value), '\n');
      }
    }
  }
  return text;
}

std::string tables_text(const Config& config) {
  std::string text;
  for (const schema::Table& list : schema::tables()) {
    text += text_of(list, config);
  }
  return text;
}

std::string commented_tables_text(const Config& config) {
  std::string text;
  for (const schema::Table& list : schema::tables()) {
    text += concat('\n', list.about, text_of(list, config));
  }
  return text;
}

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
                by_section([&](const Key& key) { return assignment(key, config, false); }), tables_text(config));
}

std::string to_recipe(const Config& config) {
  return by_section([&](const Key& key) {
           return has_effect(key, config) || is_changed(key, config) ? assignment(key, config, true) : std::string();
         }) +
         tables_text(config);
}

std::string to_commented_toml(const Config& config) {
  return by_section([&](const Key& key) {
           return concat("\n# ", key.help, "\n# ", key.name, ": ", key.expected(),
                         key.rule.derived.empty() ? "" : "; default: ", key.rule.derived,
                         key.rule.fixed ? "; fixed when the run starts" : "", '\n', assignment(key, config, true));
         }) +
         commented_tables_text(config);
}

std::string to_toml_of_changes(const Config& config) {
  return by_section([&](const Key& key) { return is_changed(key, config) ? assignment(key, config, true) : std::string(); }) +
         tables_text(config);
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
  for (const schema::Table& list : schema::tables()) {
    std::string a = text_of(list, ours), b = text_of(list, theirs);
    if (list.section == section && a != b) {
      found.push_back({list.path(), std::move(a), std::move(b)});
    }
  }
  return found;
}

}  // namespace dikkat
