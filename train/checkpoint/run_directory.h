#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"

namespace dikkat {

/// A run directory for its only writer: RUN_DIR/.lock is locked from construction to destruction.
class RunDirectory {
 public:
  /// For a new run: creates the folder, or uses an empty one. Throws InputError if it is not empty, cannot be written or is in use; then
  /// the folder is not changed.
  static RunDirectory create(const std::filesystem::path& path);
  /// Throws InputError as create() would for a folder that has something, before other work is done. Writes nothing.
  static void require_free(const std::filesystem::path& path);
  /// For an existing run: removes leftover temporary files. Throws InputError if the folder is missing, is not a run directory, cannot be
  /// written, or is in use; the message has the id of the process that uses it.
  static RunDirectory open(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  /// The folder for save_checkpoint().
  std::filesystem::path checkpoints_path() const { return checkpoint_directory(path_); }
  std::vector<CheckpointEntry> checkpoints() const { return list_checkpoints(path_); }
  std::optional<CheckpointEntry> newest() const;
  std::optional<CheckpointEntry> best() const { return best_checkpoint(path_); }

  /// Call this before writing anything there. Throws Error if path() is not the locked folder any more, because that was moved or removed;
  /// there may be another run now. If the lock file was removed, creates and locks it again; throws InputError if another process has
  /// done so before.
  void require_held();

  /// Records the checkpoint of this step as the best one. Throws Error if that cannot be written, and as require_held().
  void record_best(index step);
  /// Removes old checkpoints: of those up to saved.step(), keeps the last `keep_last` (1 or more, `saved` included) and the best
  /// (best_step; -1: none). Throws Error if one cannot be removed, and as require_held().
  void retain(const SavedCheckpoint& saved, index keep_last, index best_step);
  /// Renames the checkpoints after `step` (set_aside()) and returns their new paths. A run that continues from an older checkpoint
  /// (--latest-good) needs these names.
  std::vector<std::filesystem::path> set_aside_after(index step);
  /// Removes the temporary files of killed writers and returns how many there were.
  index clean_temporaries();

 private:
  explicit RunDirectory(std::filesystem::path path);

  std::filesystem::path path_;
  int folder_ = -1;  ///< an open descriptor, to notice when path() becomes another folder
  int lock_ = -1;
};

}  // namespace dikkat
