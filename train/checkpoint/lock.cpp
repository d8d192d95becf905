#include "train/checkpoint/lock.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/missing_guard.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

/// Takes the lock, waiting for up to a second: `runs`, and a `train` that will be refused, hold a lock for a moment. Returns errno, or 0.
int lock_patiently(const Descriptor& descriptor, Faults* faults) {
  constexpr int kPatience = 100;
  constexpr auto kMoment = std::chrono::milliseconds(10);
  int error = 0;
  for (int attempt = 0; (error = lock_descriptor(descriptor.get(), faults)) == EWOULDBLOCK && attempt < kPatience; ++attempt) {
    std::this_thread::sleep_for(kMoment);
  }
  return error;
}

/// Returns whether another descriptor holds a lock. Takes a shared lock, which closing the descriptor releases.
bool is_locked(const Descriptor& descriptor) {
  return descriptor.get() >= 0 && ::flock(descriptor.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Descriptor open_folder(const fs::path& path) { return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

Descriptor open_lock_file(const fs::path& folder) {
  return Descriptor(::open((folder / kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

/// Returns the holder of the lock, for a message: "process 123", or "another process" if the lock file does not contain its id.
std::string holder_of(const fs::path& folder) {
  const Descriptor lock = open_lock_file(folder);
  char text[24];
  const ssize_t size = is_locked(lock) ? ::pread(lock.get(), text, sizeof text, 0) : 0;
  std::string pid;
  for (ssize_t at = 0; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
    pid += text[at];
  }
  return pid.empty() ? "another process" : "process " + pid;
}

[[noreturn]] void refuse(const fs::path& folder) {
  fail_input(folder.string(), " is in use by ", holder_of(folder),
             ": a folder has only one writer; wait until it is free, or choose another folder");
}

}  // namespace

void FolderLock::take_file(Faults* faults) {
  const fs::path name = path_ / kLockName;
  // O_NOFOLLOW: sign() writes to this file, so it must not be a link to another one.
  Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  const int failed = lock.get() >= 0 ? 0 : errno;
  struct stat info{};
  const bool regular = ::lstat(name.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  require_input(regular, name.string(), " is ",
                S_ISLNK(info.st_mode)   ? "a link"
                : S_ISDIR(info.st_mode) ? "a folder"
                                        : "a pipe, socket or device",
                ", expected the lock file of a run: remove it");
  require_path(failed, path_.string(), " cannot be written");
  const int error = lock_patiently(lock, faults);
  if (error == EWOULDBLOCK) {
    refuse(path_);
  }
  guards_ = !is_missing(Guard::lock, error);
  const int locked = accept_missing(Guard::lock, path_, error);
  require(locked == 0, name.string(), " cannot be locked: ", describe_errno(locked));
  file_ = std::move(lock);
}

FolderLock FolderLock::take(const fs::path& path, Faults* faults) {
  constexpr int kMost = 100;
  for (int attempt = 0;; ++attempt) {
    Descriptor folder = open_folder(path);
    if (folder.get() < 0 && errno == EACCES) {  // the folder is writable but not readable, so only the lock file can be locked
      folder = Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    require_path(folder.get() >= 0 ? 0 : errno, path.string(), " cannot be opened");
    FolderLock lock(path, std::move(folder));
    // Lock the folder first: a refused process has then not touched the lock file, which the holder may be creating again. Other failures
    // are ignored, because some file systems have no locks for folders.
    if (lock_patiently(lock.folder_, faults) == EWOULDBLOCK) {
      refuse(path);
    }
    lock.take_file(faults);
    // Try again if the folder or the file was replaced before it was locked.
    if (attempt == kMost || (is_at(lock.folder_, path) && is_at(lock.file_, path / kLockName))) {
      return lock;
    }
  }
}

void FolderLock::sign() {
  const std::string pid = concat(::getpid(), '\n');
  const bool written =
      ::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  require_input(written, path_.string(), " cannot be written: ", errno_text);
}

void FolderLock::require_held() {
  require(is_at(folder_, path_), path_.string(),
          " is not the folder that this run has locked: that one was moved, removed or replaced; nothing was written here");
  if (!is_at(file_, path_ / kLockName)) {  // the lock file was removed
    take_file(nullptr);
    sign();
  }
  ::futimens(file_.get(), nullptr);  // updates its time, so that programs that remove old files keep it
}

bool is_locked(const fs::path& folder) { return is_locked(open_folder(folder)) || is_locked(open_lock_file(folder)); }

}  // namespace dikkat
