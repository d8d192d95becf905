#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/load.h"

namespace dikkat {

// These functions find checkpoints in a run directory. They only read, without taking the lock.

struct CheckpointEntry {
  index step = 0;
  std::filesystem::path path;
};

/// Returns the name of a checkpoint file, such as step-000000700.h5.
std::string checkpoint_name(index step);

/// Returns the folder RUN_DIR/checkpoints.
std::filesystem::path checkpoint_directory(const std::filesystem::path& run_directory);

/// Lists the checkpoints of a run, sorted by step, reading only their names. Empty if there is no such folder.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& run_directory);

/// Returns the checkpoint with the lowest validation loss so far, whose name is in RUN_DIR/checkpoints/best; nullopt if there is no such
/// file. Throws InputError if the named checkpoint does not exist.
std::optional<CheckpointEntry> best_checkpoint(const std::filesystem::path& run_directory);

/// Which checkpoint of a run directory to open.
enum class CheckpointChoice {
  newest,          ///< the newest; if it is damaged, an InputError names it and the older ones that are intact
  best,            ///< the one with the lowest validation loss; an InputError if there was no evaluation
  best_or_newest,  ///< the one with the lowest validation loss; if there was no evaluation, the newest
  latest_good,     ///< the newest that is intact
};

/// Opens FILE.h5, or the checkpoint of RUN_DIR that `choice` selects. Throws InputError if there is none, and what CheckpointFile::open()
/// throws. CheckpointChoice::latest_good skips damaged files and appends what is wrong with each to `damaged` (may be null). A file that
/// cannot be read because of a temporary failure (Error) is not skipped.
CheckpointFile open_checkpoint(const std::filesystem::path& run_directory_or_file, CheckpointChoice choice = CheckpointChoice::newest,
                               std::vector<std::string>* damaged = nullptr);

}  // namespace dikkat
