#pragma once

#include <filesystem>

#include "autograd/base/index.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

class Faults;

/// The proof that a checkpoint is on the disk. Only save_checkpoint makes one, and only with one are older checkpoints removed.
class SavedCheckpoint {
 public:
  const std::filesystem::path& path() const { return path_; }
  index step() const { return step_; }
  index bytes() const { return bytes_; }

 private:
  friend SavedCheckpoint save_checkpoint(const std::filesystem::path& directory, const Snapshot& snapshot, Faults* faults);
  SavedCheckpoint(std::filesystem::path path, index step, index bytes) : path_(std::move(path)), step_(step), bytes_(bytes) {}

  std::filesystem::path path_;
  index step_;
  index bytes_;
};

/// Disk space that a checkpoint of the snapshot takes at most. Throws as save_checkpoint() for one that cannot be saved.
index expected_bytes(const Snapshot& snapshot);

/// Writes `directory`/step-NNNNNNNNN.h5 for the step in the snapshot's state, by way of a temporary file beside it. It returns once
/// the file has been read back, compared with the snapshot bit by bit, and forced to the disk together with its name. If anything
/// fails it throws Error (the file, the operation and the system's words), leaves no file and touches no other checkpoint.
/// A file of this step that is there already is fine if it has the very same bytes, else it is left alone: Error.
/// The caller holds the run directory's lock; SIGXFSZ should be ignored. `faults` is for tests.
SavedCheckpoint save_checkpoint(const std::filesystem::path& directory, const Snapshot& snapshot, Faults* faults = nullptr);

}  // namespace dikkat
