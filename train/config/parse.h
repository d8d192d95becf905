#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

// A configuration is made in these steps: the defaults of config.h, the file, the --set arguments, resolve(), validate().
// All errors are InputErrors with one line for each problem (at most ten). A line names the place and what to do.

/// Returns `base` with the settings of the TOML text. Errors call the text `source_name`: "NAME:line:column: ...".
/// Adds the keys that the text sets ("section.key") to `written`, if it is not null.
Config parse_config(std::string_view toml, std::string_view source_name, const Config& base = {},
                    std::vector<std::string>* written = nullptr);

/// Returns the base for configurations that a run wrote. If an older program wrote them, a key that they lack gets the value that keeps
/// that program's behaviour.
Config defaults_of_runs();

/// Reads a configuration that a run wrote, based on defaults_of_runs(). Ignores keys that only older versions had. If such a key has a
/// value, adds a remark to `remarks`, if it is not null.
Config parse_config_of_run(std::string_view toml, std::string_view source_name, std::vector<std::string>* remarks = nullptr);

/// Reads a configuration file, as parse_config() does. A relative path in [data], tokenizer.path or train.init_from that does not exist in
/// the current directory, but next to the file, becomes an absolute path to the latter.
Config load_config(const std::filesystem::path& path, const Config& base = {}, std::vector<std::string>* written = nullptr);

/// Whether a run begins or continues. A run that continues keeps, for example, its model and its seed.
enum class RunStage { begins, goes_on };

/// Applies `--set section.key=value`. Text needs no quotes; a list is separated by commas or written as in TOML.
void apply_override(Config& config, std::string_view assignment, RunStage stage = RunStage::begins);

/// Returns the key of an assignment: "train.max_steps" for "train.max_steps=500".
std::string key_of_override(std::string_view assignment);

/// Computes each derived key that is not set. Only model.vocab_size may stay open, because it follows from the tokenizer.
void resolve(Config& config);

/// Throws InputError unless every value is in its range and the keys fit together.
void validate(const Config& config);

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
