#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

/// The configuration of a new run: the file's, with "section.key=value" of `set`, and `corpus` in place of data.corpus unless empty;
/// resolved and valid. Throws InputError otherwise.
Config configuration_of(const std::string& file, const std::vector<std::string>& set, const std::vector<std::string>& corpus);

/// runs/NAME after the configuration's file, or the first of runs/NAME-2, runs/NAME-3 ... that is free.
std::filesystem::path free_run_directory(const std::filesystem::path& config);

}  // namespace dikkat
