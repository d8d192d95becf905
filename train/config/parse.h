#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

// A configuration is made in this order: the defaults of config.h, the file, the --set arguments, resolve(), validate().
// All errors are InputErrors with one line for each problem (at most ten), which says where it is and what to do.

/// `base` with what the TOML text says. `source_name` is what errors call the text: "NAME:line:column: ...".
/// Adds the keys that the text gives ("section.key") to `written`, if that is not null.
Config parse_config(std::string_view toml, std::string_view source_name, const Config& base = {},
                    std::vector<std::string>* written = nullptr);

/// The base for configurations that a run wrote: a key that they lack, because the program that wrote them was older, means what that
/// program did.
Config defaults_of_runs();

/// Reads a configuration that a run wrote, over defaults_of_runs(). A key that only older versions had is ignored. If it has a value, a
/// remark is added to `remarks`, if that is not null.
Config parse_config_of_run(std::string_view toml, std::string_view source_name, std::vector<std::string>* remarks = nullptr);

/// As parse_config(), from a file. A relative path in data.corpus, data.validation, tokenizer.path or train.init_from that does not exist
/// in the current directory but beside the file becomes the absolute path of the latter.
Config load_config(const std::filesystem::path& path, const Config& base = {}, std::vector<std::string>* written = nullptr);

/// Whether a run begins or goes on: one that goes on keeps, for example, its model and its seed.
enum class RunStage { begins, goes_on };

/// What `--set section.key=value` says. Text needs no quotes; a list is separated by commas or written as in TOML.
void apply_override(Config& config, std::string_view assignment, RunStage stage = RunStage::begins);

/// The key that an assignment is for: "train.max_steps" of "train.max_steps=500".
std::string key_of_override(std::string_view assignment);

/// Computes each key that is not set and follows from others. Only model.vocab_size may stay open: it follows from the tokenizer.
void resolve(Config& config);

/// Throws InputError unless every value is in its range and the keys agree with each other.
void validate(const Config& config);

/// Every key, in the order of the schema. parse_config() reads the same configuration back: a list `derived` names the keys whose values
/// follow from others.
std::string to_toml(const Config& config);
/// The configuration as a recipe for other runs: a key whose value follows from others is a comment, so that it follows again, and a key
/// that has no effect is left out unless it was changed.
std::string to_recipe(const Config& config);
/// Every key, with comments that say what it is for and what it accepts.
std::string to_commented_toml(const Config& config);
/// The keys that differ from their defaults.
std::string to_toml_of_changes(const Config& config);

/// A key in which two configurations differ, with its values as TOML.
struct ConfigDifference {
  std::string path, ours, theirs;
};
/// Of the keys of a section that have an effect and a value in both, in the order of the schema.
std::vector<ConfigDifference> differences(const Config& ours, const Config& theirs, std::string_view section);

}  // namespace dikkat
