#pragma once

#include <filesystem>

#include "autograd/base/index.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

class Faults;

/// Proof that a checkpoint is on the disk. Only the functions below create one, and removing older checkpoints requires one.
class SavedCheckpoint {
 public:
  const std::filesystem::path& path() const { return path_; }
  index step() const { return step_; }
  index bytes() const { return bytes_; }

 private:
  friend SavedCheckpoint save_checkpoint(const std::filesystem::path& directory, const Snapshot& snapshot, Faults* faults);
  friend SavedCheckpoint replace_checkpoint(const std::filesystem::path& file, const Snapshot& snapshot, Faults* faults);
  SavedCheckpoint(std::filesystem::path path, index step, index bytes) : path_(std::move(path)), step_(step), bytes_(bytes) {}

  std::filesystem::path path_;
  index step_;
  index bytes_;
};

/// Returns an upper bound of the disk space that a checkpoint of the snapshot takes, in bytes. Throws what save_checkpoint() throws for a
/// snapshot that cannot be saved.
index expected_bytes(const Snapshot& snapshot);

/// Writes `directory`/step-NNNNNNNNN.h5 for the step in the snapshot's state, through a temporary file in the same folder. Returns after
/// the file has been read back, compared with the snapshot bit by bit, and synced to the disk together with its name.
///
/// If anything fails, throws Error (with file, operation and the system's message), leaves no file and changes no other checkpoint. A file
/// of this step that already exists is never changed: throws Error unless it has the same bytes. The caller must hold the run directory's
/// lock and should ignore SIGXFSZ. `faults` is for tests, and may be null.
SavedCheckpoint save_checkpoint(const std::filesystem::path& directory, const Snapshot& snapshot, Faults* faults = nullptr);

/// Does what save_checkpoint() does, but for a file of any name in a folder that exists. Atomically replaces a file that is there: until
/// the new checkpoint is complete and synced, and if anything fails, `file` is the old one.
SavedCheckpoint replace_checkpoint(const std::filesystem::path& file, const Snapshot& snapshot, Faults* faults = nullptr);

}  // namespace dikkat
