#include "train/system/temporary_file.h"

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

/// Returns the beginning of a stem's hidden names.
std::string beginning_of(const std::string& stem) { return concat(kTemporaryPrefix, stem, '-'); }

/// Calls `make(path, lock)` with hidden names until one is new. `make` returns errno, or 0 and a descriptor, which is then locked. If
/// another writer removes the file as a leftover before it is locked, tries the next name.
template <class Make>
void make_hidden(const fs::path& folder, const std::string& stem, Provisional& name, Make&& make) {
  constexpr int kMost = 1000;  // names to try
  for (int i = 1;; ++i) {
    fs::path path = folder / (i == 1 ? concat(beginning_of(stem), ::getpid()) : concat(beginning_of(stem), ::getpid(), '-', i));
    Descriptor lock(-1);
    const int error = make(path, lock);
    if (error == EEXIST && i < kMost) {
      continue;
    }
    require_done(error, Operation::open);
    name.hold(std::move(path), std::move(lock));  // first, because the rest may throw and must leave nothing
    if (name.lock() || i == kMost) {              // a file system may have no locks
      return;
    }
    name.keep();
  }
}

/// Opens a hidden file or folder for locking. NFS locks only files that are open for writing.
Descriptor open_hidden(const fs::path& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), O_RDWR | kFlags));
  return file.get() >= 0 || errno != EISDIR ? std::move(file) : Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | kFlags));
}

bool is_hour_older(const fs::path& path, const fs::path& own) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  const auto now = error || own.empty() ? written : fs::last_write_time(own, error);
  return !error && written < now - std::chrono::hours(1);
}

}  // namespace

Provisional::~Provisional() {
  if (exists_) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

void Provisional::hold(fs::path path, Descriptor lock) {
  path_ = std::move(path);
  lock_ = std::move(lock);
  exists_ = true;
}

bool Provisional::lock() { return lock_descriptor(lock_.get(), nullptr) != EWOULDBLOCK && is_at(lock_, path_); }

File create_temporary(const fs::path& folder, const std::string& stem, Provisional& name, Faults* faults) {
  File file;
  make_hidden(folder, stem, name, [&](const fs::path& path, Descriptor& lock) {
    file = File();
    const int error = file.create(path, faults);
    if (error == 0) {
      lock = file.duplicate();
    }
    return error;
  });
  return file;
}

void create_temporary_folder(const fs::path& folder, const std::string& stem, Provisional& name) {
  make_hidden(folder, stem, name, [](const fs::path& path, Descriptor& lock) {
    if (::mkdir(path.c_str(), 0777) != 0) {
      return errno;
    }
    lock = open_hidden(path);
    return 0;
  });
}

index remove_leftovers(const fs::path& folder, const std::string& stem, const fs::path& own) {
  const std::string beginning = beginning_of(stem);
  index removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning) || name.find_first_not_of("0123456789-", beginning.size()) != std::string::npos ||
        name == own.filename()) {
      continue;
    }
    const Descriptor hidden = open_hidden(entry->path());
    struct stat info{};
    const bool is_ours = hidden.get() >= 0 && ::fstat(hidden.get(), &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    const int locked = is_ours ? lock_descriptor(hidden.get(), nullptr) : EWOULDBLOCK;
    if (locked == 0 || (locked != EWOULDBLOCK && is_hour_older(entry->path(), own))) {
      std::error_code undeletable;
      fs::remove_all(entry->path(), undeletable);
      removed += undeletable ? 0 : 1;
    }
  }
  return removed;
}

index remove_temporaries(const fs::path& folder) {
  index removed = 0;
  for (const fs::path& path : paths_in(folder)) {
    std::error_code undeletable;
    if (path.filename().string().starts_with(kTemporaryPrefix) && fs::symlink_status(path, undeletable).type() == fs::file_type::regular) {
      removed += fs::remove(path, undeletable) ? 1 : 0;
    }
  }
  return removed;
}

}  // namespace dikkat
