#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/snapshot.h"
#include "train/config/config.h"
#include "train/config/render.h"

// Sentences for the user about a run that begins or is resumed. A string is empty if there is nothing to remark.
namespace dikkat {

/// Remarks that the run ends before its warm-up.
std::string remark_on_warmup(const Config& config);

/// Remarks that the kernels are not those that the checkpoint was made with.
std::string remark_on_kernels(const TrainingState& state);

/// Remarks that RUN_DIR/config.toml was edited. Lists values that neither the checkpoint nor the resumed run has, or reports why the file
/// cannot be read.
std::string remark_on_edits(const std::filesystem::path& file, const Config& stored, const Config& now);

/// Returns the keys whose values a resumed run changes. `ours` is the value in the checkpoint.
std::vector<ConfigDifference> changes_between(const Config& stored, const Config& now);

/// Remarks on these changes, and on consequences that may surprise.
std::vector<std::string> remarks_on_changes(const std::vector<ConfigDifference>& changes, const Config& stored, const Config& now,
                                            index step);

}  // namespace dikkat
