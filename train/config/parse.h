#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

// A configuration comes about in this order: the defaults of config.h, the file, the --set arguments, resolve(), validate().
// All errors are InputErrors with one line for each problem (at most ten), which says where it is and what to do.

/// The defaults with what the TOML text says. `source_name` is what errors call the text: "NAME:line:column: ...".
Config parse_config(std::string_view toml, std::string_view source_name);

/// The configuration in a file. A relative path in data.corpus that is not there in the current directory but is there beside the
/// file becomes the absolute path of the latter.
Config load_config(const std::filesystem::path& path);

/// Whether a run begins or goes on: one that goes on keeps, for example, its model and its seed.
enum class RunStage { begins, goes_on };

/// What `--set section.key=value` says. Text needs no quotes; a list is separated by commas or written as in TOML.
void apply_override(Config& config, std::string_view assignment, RunStage stage = RunStage::begins);

/// Gives each key that is not set and depends on others its value; afterwards every optional holds one.
void resolve(Config& config);

/// Throws InputError unless every value is in its range and the keys agree with each other.
void validate(const Config& config);

/// Every key in the order of the schema; one that is not set yet is a comment. parse_config() reads the same configuration back.
std::string to_toml(const Config& config);

/// A key in which two configurations differ, with its values as TOML.
struct ConfigDifference {
  std::string path, ours, theirs;
};
/// Of the keys of a section, in the order of the schema.
std::vector<ConfigDifference> differences(const Config& ours, const Config& theirs, std::string_view section);

/// Every key with its default, what it accepts and what it is for.
std::string help_for_keys();

}  // namespace dikkat
