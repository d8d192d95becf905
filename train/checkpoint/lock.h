#pragma once

#include <filesystem>
#include <utility>

#include "train/system/descriptor.h"
#include "train/system/faults.h"

namespace dikkat {

inline constexpr const char* kLockName = ".lock";

/// Locks a folder that has one writer, such as a run directory. Two things are locked until the object is destroyed:
/// - the file FOLDER/.lock, which programs on other machines see too. It is never removed: if it were removed and created again, two
///   programs could each lock one of the files.
/// - the folder itself, even if it is renamed. So a folder in use stays locked when its lock file is removed or replaced.
class FolderLock {
 public:
  /// Takes the lock; creates the lock file if needed. Throws InputError if the file cannot be written, or if another process holds the
  /// lock; then the message has that process's id. If the file system has no locks, continues without one
  /// (train/system/missing_guard.h). `faults` is for tests, and may be null.
  static FolderLock take(const std::filesystem::path& folder, Faults* faults = nullptr);

  /// Writes this process's id to the lock file.
  void sign();
  /// Throws Error if the path no longer refers to the locked folder, because the folder was moved, removed or replaced. If the lock file
  /// was removed, creates and locks it again; throws InputError if another process has already done so.
  void require_held();
  /// Returns whether the lock keeps other writers out. False if the file system has no locks.
  bool guards() const { return guards_; }

 private:
  FolderLock(std::filesystem::path path, Descriptor folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  void take_file(Faults* faults);

  std::filesystem::path path_;
  Descriptor folder_;
  Descriptor file_{-1};
  bool guards_ = true;
};

/// Returns whether a process holds the folder's lock now. Writes nothing; holds a shared lock for a moment.
bool is_locked(const std::filesystem::path& folder);

}  // namespace dikkat
