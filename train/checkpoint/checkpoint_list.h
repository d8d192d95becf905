#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/load.h"

namespace dikkat {

// What readers need of a run directory; none of it takes the lock or writes anything.

struct CheckpointEntry {
  index step = 0;
  std::filesystem::path path;
};

/// step-000000700.h5
std::string checkpoint_name(index step);

/// RUN_DIR/checkpoints
std::filesystem::path checkpoint_directory(const std::filesystem::path& run_directory);

/// The checkpoints of a run by step; only their names are looked at. Empty if there is no such folder.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& run_directory);

/// What RUN_DIR/checkpoints/best names: the checkpoint with the lowest validation loss so far; nullopt if there is no such file.
/// Throws InputError if it names no checkpoint that is there.
std::optional<CheckpointEntry> best_checkpoint(const std::filesystem::path& run_directory);

enum class Pick {
  newest,       ///< and nothing else: if it is damaged, an InputError names it and the older ones that are whole
  best,         ///< by validation loss
  latest_good,  ///< the newest that is whole
};

/// The checkpoint that RUN_DIR or FILE.h5 means; `pick` is about a RUN_DIR. Throws InputError if there is none, and as
/// CheckpointFile::open. Pick::latest_good passes over what is damaged, and appends to `damaged` (may be null) what is wrong with each such
/// file; where one cannot be read just now (Error) it passes over nothing.
CheckpointFile open_checkpoint(const std::filesystem::path& run_directory_or_file, Pick pick = Pick::newest,
                               std::vector<std::string>* damaged = nullptr);

}  // namespace dikkat
