#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"

namespace dikkat {

/// The folder of a run in the hands of its one writer: RUN_DIR/.lock is locked from construction to destruction.
class RunDirectory {
 public:
  /// A folder for a new run: made if missing, taken if empty. Throws InputError if it holds anything, cannot be written,
  /// or is in use; a folder that is refused is left as it was.
  static RunDirectory create(const std::filesystem::path& path);
  /// The folder of a run that there is; leftover temporary files are removed. Throws InputError if it is missing, is no run
  /// directory, cannot be written, or is in use, with the number of the process that uses it.
  static RunDirectory open(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  /// Where save_checkpoint is to write.
  std::filesystem::path checkpoints_path() const { return checkpoint_directory(path_); }
  std::vector<CheckpointEntry> checkpoints() const { return list_checkpoints(path_); }
  std::optional<CheckpointEntry> newest() const;
  std::optional<CheckpointEntry> best() const { return best_checkpoint(path_); }

  /// Throws Error where path() is another folder by now, or none: it was moved or removed while it was locked, and what is there may be
  /// another run. A lock file that somebody has removed is made and locked again; throws InputError where another process has done that
  /// before. To be called before anything is written there.
  void require_held();

  /// Makes the checkpoint of this step the one that best() and readers find. Throws Error if it cannot be written, and as require_held().
  void record_best(index step);
  /// Removes the checkpoints below saved.step() but for the last `keep_last` (1 or more, `saved` counted) and the best
  /// (best_step; -1: none). Throws Error if one cannot be removed, and as require_held().
  void retain(const SavedCheckpoint& saved, index keep_last, index best_step);
  /// Sets the checkpoints after `step` aside: a run that goes on from an older one (--latest-good) would meet them again. Gives their new
  /// paths.
  std::vector<std::filesystem::path> set_aside_after(index step);
  /// Removes the temporary files that a killed writer left, of checkpoints and of what lies beside them, and says how many.
  index clean_temporaries();

 private:
  explicit RunDirectory(std::filesystem::path path);

  std::filesystem::path path_;
  int folder_ = -1;  ///< to know it again
  int lock_ = -1;
};

}  // namespace dikkat
