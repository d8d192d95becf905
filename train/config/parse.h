#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

// A configuration is made in these steps: the defaults of config.h, the file, the --set arguments (override.h), resolve() and validate()
// (resolve.h). All errors are InputErrors with one line for each problem (at most ten). A line names the place and what to do.

/// Returns `base` with the settings of the TOML text. Errors call the text `source_name`: "NAME:line:column: ...".
/// Adds the keys that the text sets ("section.key") to `written`, if it is not null.
Config parse_config(std::string_view toml, std::string_view source_name, const Config& base = {},
                    std::vector<std::string>* written = nullptr);

/// Returns the base for configurations that a run wrote. A key that they lack, because an older program wrote them, has the value that
/// keeps that program's behavior.
Config defaults_of_runs();

/// Reads a configuration that a run wrote, based on defaults_of_runs(). Ignores keys that only older versions had. If such a key has a
/// value, adds a remark to `remarks`, if it is not null.
Config parse_config_of_run(std::string_view toml, std::string_view source_name, std::vector<std::string>* remarks = nullptr);

/// Reads a configuration file, as parse_config() does. A relative path in [data], tokenizer.path or train.init_from that exists only next
/// to the file, and not in the current directory, becomes absolute.
Config load_config(const std::filesystem::path& path, const Config& base = {}, std::vector<std::string>* written = nullptr);

}  // namespace dikkat
