#pragma once

#include <filesystem>
#include <utility>

#include "train/system/descriptor.h"
#include "train/system/faults.h"

namespace dikkat {

inline constexpr const char* kLockName = ".lock";

/// The lock of a folder that has one writer, such as a run directory. Two things are locked until the object is destroyed:
/// - the file FOLDER/.lock, which programs on other machines see too. It is never removed, because a removed and recreated file could be
///   locked twice.
/// - the folder itself, whatever its name is by now. So nobody takes a folder that is in use for free because its lock file was removed
///   or replaced, or because the folder was renamed.
class FolderLock {
 public:
  /// Creates the lock file if needed. Throws InputError if it cannot be written, or somebody else has the lock; the message has the id of
  /// the process that holds it. Goes on without a lock file's lock where the file system has none (train/system/missing_guard.h).
  /// `faults` (may be null) are those of a test.
  static FolderLock take(const std::filesystem::path& folder, Faults* faults = nullptr);

  /// Writes this process's id to the lock file.
  void sign();
  /// Throws Error if the path is not the locked folder any more, because that was moved or removed; there may be another one now. If the
  /// lock file was removed, creates and locks it again; throws InputError if another process has done so before.
  void require_held();
  /// False if the file system has no locks, so that others may write to the folder all the same.
  bool guards() const { return guards_; }

 private:
  FolderLock(std::filesystem::path path, Descriptor folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  void take_file(Faults* faults);

  std::filesystem::path path_;
  Descriptor folder_;
  Descriptor file_{-1};
  bool guards_ = true;
};

/// Whether some process holds the folder's lock now. Writes nothing; holds a shared lock for a moment.
bool is_locked(const std::filesystem::path& folder);

}  // namespace dikkat
