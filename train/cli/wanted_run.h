#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

/// The configuration of a new run: that of `file` (see find_config(); empty: the defaults), with "section.key=value" of `set`, and
/// `corpus` in place of data.corpus unless empty; resolved and valid. Throws InputError otherwise.
Config configuration_of(const std::string& file, const std::vector<std::string>& set, const std::vector<std::string>& corpus);

/// The file that --config names: a path, or the name of a configuration that comes with the program ("quickstart" or "quickstart.toml").
/// A path that exists goes first; a name that is found nowhere is given back as it is.
std::filesystem::path find_config(const std::string& name);

/// runs/NAME after the configuration's file (runs/default without one), or the first of runs/NAME-2, runs/NAME-3 ... that is free.
std::filesystem::path free_run_directory(const std::filesystem::path& config);

}  // namespace dikkat
