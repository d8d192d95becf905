#pragma once

#include <concepts>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/lock.h"
#include "train/checkpoint/save.h"

namespace dikkat {

/// Where a new run goes.
struct NewRunPath {
  template <std::convertible_to<std::filesystem::path> Path>
  NewRunPath(Path&& folder) : path(std::forward<Path>(folder)) {}  // NOLINT(google-explicit-constructor): a path is one
  NewRunPath(std::filesystem::path folder, bool numbers) : path(std::move(folder)), numbered(numbers) {}

  std::filesystem::path path;
  bool numbered = false;  ///< whether it is the first of PATH, PATH-2, PATH-3 ... that does not exist when the run is created

  /// PATH-number; PATH itself for 1.
  std::filesystem::path with_number(index number) const;
  /// The path that the run would have now. Another program may take it before the run is created.
  std::filesystem::path free_now() const;
};

/// A run directory for its only writer: it is locked (FolderLock) from construction to destruction.
class RunDirectory {
 public:
  /// For a new run: creates the folder, or uses an empty one. Throws InputError if it is not empty, cannot be written or is in use; then
  /// the folder is not changed. A numbered path is always a new folder. `faults` (may be null) are those of a test.
  static RunDirectory create(const NewRunPath& wanted, Faults* faults = nullptr);
  /// Throws InputError as create() would for a folder that has something, before other work is done. Writes nothing.
  static void require_free(const std::filesystem::path& path);
  /// For an existing run: removes leftover temporary files. Throws InputError if the folder is missing, is not a run directory, cannot be
  /// written, or is in use; the message has the id of the process that uses it.
  static RunDirectory open(const std::filesystem::path& path, Faults* faults = nullptr);

  const std::filesystem::path& path() const { return path_; }
  /// The folder for save_checkpoint().
  std::filesystem::path checkpoints_path() const { return checkpoint_directory(path_); }
  std::vector<CheckpointEntry> checkpoints() const { return list_checkpoints(path_); }
  std::optional<CheckpointEntry> newest() const;
  std::optional<CheckpointEntry> best() const { return best_checkpoint(path_); }

  /// Call this before writing anything there. Throws Error if path() is not the locked folder any more, because that was moved or removed;
  /// there may be another run now. If the lock file was removed, creates and locks it again; throws InputError if another process has
  /// done so before.
  void require_held() { lock_.require_held(); }
  /// Whether the lock keeps others out (FolderLock::guards()).
  bool is_guarded() const { return lock_.guards(); }
  /// Removes the folder with all that is in it, before the lock is given back. Throws Error if that fails, and as require_held().
  void remove() &&;

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
  RunDirectory(std::filesystem::path path, Faults* faults) : path_(std::move(path)), lock_(FolderLock::take(path_, faults)) {}

  std::filesystem::path path_;
  FolderLock lock_;
};

}  // namespace dikkat
