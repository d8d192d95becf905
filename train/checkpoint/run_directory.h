#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/lock.h"
#include "train/checkpoint/save.h"

namespace dikkat {

/// The path of a new run.
struct NewRunPath {
  template <std::convertible_to<std::filesystem::path> Path>
  NewRunPath(Path&& folder) : path(std::forward<Path>(folder)) {}  // NOLINT(google-explicit-constructor): a path is one
  NewRunPath(std::filesystem::path folder, bool numbers) : path(std::move(folder)), numbered(numbers) {}

  std::filesystem::path path;
  bool numbered = false;   ///< whether to use the first of PATH, PATH-2, PATH-3 ... that does not exist when the run is created
  bool continues = false;  ///< whether to continue the run that is there, if it has the same configuration

  /// Returns PATH-number, or PATH itself for 1.
  std::filesystem::path with_number(index number) const;
  /// Returns the path that the run would have now. Another program may take it before the run is created.
  std::filesystem::path free_now() const;
};

/// A run directory, for its only writer. It is locked (FolderLock) from construction to destruction.
class RunDirectory {
 public:
  /// Creates the folder of a new run, or uses an empty folder. Throws InputError if it is not empty, cannot be written or is in use; then
  /// the folder is not changed. A numbered path always creates a new folder. `faults` is for tests, and may be null.
  ///
  /// A start that was killed before its first checkpoint leaves a config.toml, and perhaps a metrics.jsonl. `is_own_start` looks at such a
  /// folder and returns whether the new run would write the same config.toml. Then the run starts again in this folder.
  using IsOwnStart = std::function<bool(const std::filesystem::path& folder)>;
  static RunDirectory create(const NewRunPath& wanted, Faults* faults = nullptr, const IsOwnStart& is_own_start = {});
  /// Throws InputError if create() would refuse the folder because it is not empty. Call this before longer work. Writes nothing.
  static void require_free(const std::filesystem::path& path);
  /// Opens the folder of an existing run, and removes leftover temporary files. Throws InputError if the folder is missing, is not a run
  /// directory, cannot be written, or is in use. The message then has the id of the process that uses it.
  static RunDirectory open(const std::filesystem::path& path, Faults* faults = nullptr);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the folder for save_checkpoint().
  std::filesystem::path checkpoints_path() const { return checkpoint_directory(path_); }
  std::vector<CheckpointEntry> checkpoints() const { return list_checkpoints(path_); }
  std::optional<CheckpointEntry> newest() const;
  std::optional<CheckpointEntry> best() const { return best_checkpoint(path_); }

  /// Call this before writing anything to the folder. Throws Error if path() no longer refers to the locked folder, because the folder was
  /// moved, removed or replaced by another run. If the lock file was removed, creates and locks it again; throws InputError if another
  /// process has already done so.
  void require_held() { lock_.require_held(); }
  /// Returns whether the lock keeps others out (FolderLock::guards()).
  bool is_guarded() const { return lock_.guards(); }
  /// Removes the folder with all its contents while the lock is held. It first gets a hidden name, so that a killed removal leaves no half
  /// of a run. Throws Error if that fails, or what require_held() throws.
  void remove() &&;

  /// Records the checkpoint of this step as the best one. Throws Error if that cannot be written, or what require_held() throws.
  void record_best(index step);
  /// Removes old checkpoints up to saved.step(). Keeps the last `keep_last` of them (1 or more, `saved` included) and the best one
  /// (best_step; -1: none). Throws Error if one cannot be removed, or what require_held() throws.
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
