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
#include "train/io/descriptor.h"
#include "train/io/file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

/// "process 123", or "another process" if the lock file has no id.
std::string holder_of(int lock) {
  char text[24];
  const ssize_t size = ::pread(lock, text, sizeof text, 0);
  std::string pid;
  for (ssize_t at = 0; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
    pid += text[at];
  }
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

int take_lock(const fs::path& path) {
  const fs::path name = path / kLockName;
  Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  const int failed = lock.get() >= 0 ? 0 : errno;
  struct stat info {};
  const bool regular = ::lstat(name.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  require_input(regular, name.string(), " is ",
                S_ISLNK(info.st_mode)   ? "a link"
                : S_ISDIR(info.st_mode) ? "a folder"
                                        : "a pipe, socket or device",
                ", expected the lock file of a run: remove it");
  require_path(failed, path.string(), " cannot be written");
  // A `train` that will be refused holds the lock for a moment, so retry for a while.
  constexpr int kPatience = 100;
  constexpr auto kMoment = std::chrono::milliseconds(10);
  int locked = 0;
  for (int attempt = 0; (locked = ::flock(lock.get(), LOCK_EX | LOCK_NB)) != 0 && attempt < kPatience; ++attempt) {
    if (errno != EINTR && errno != EWOULDBLOCK) {
      break;
    }
    std::this_thread::sleep_for(kMoment);
  }
  if (locked != 0) {
    const int error = errno;
    require_input(error == EWOULDBLOCK, name.string(), " cannot be locked: ", describe_errno(error));
    fail_input(path.string(), " is in use by ", holder_of(lock.get()),
               ": a run directory has one writer; wait for it or choose another one");
  }
  return lock.release();
}

bool is_locked(const fs::path& path) {
  const Descriptor lock(::open((path / kLockName).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return lock.get() >= 0 && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;  // closing gives a shared lock back
}

void sign_lock(int lock, const fs::path& path) {
  const std::string pid = concat(::getpid(), '\n');
  const bool written = ::ftruncate(lock, 0) == 0 && ::pwrite(lock, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  require_input(written, path.string(), " cannot be written: ", errno_text);
}

}  // namespace dikkat
