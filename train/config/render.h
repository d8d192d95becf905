#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

/// Returns every key, in the order of the schema. parse_config() reads the same configuration back: a list `derived` names the keys whose
/// values follow from others.
std::string to_toml(const Config& config);
/// Returns the configuration as a recipe for other runs. A key whose value follows from others is a comment, so that it is computed again.
/// A key without effect is left out unless it was changed.
std::string to_recipe(const Config& config);
/// Returns every key, with comments that explain it and list the values that it accepts.
std::string to_commented_toml(const Config& config);
/// Returns the keys that differ from their defaults.
std::string to_toml_of_changes(const Config& config);

/// A key in which two configurations differ, with its values as TOML.
struct ConfigDifference {
  std::string path, ours, theirs;
};
/// Returns the differences in a section, in the order of the schema. Only keys that have an effect and a value in both are compared.
std::vector<ConfigDifference> differences(const Config& ours, const Config& theirs, std::string_view section);

}  // namespace dikkat
