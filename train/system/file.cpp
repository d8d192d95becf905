#include "train/system/file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/missing_guard.h"
#include "train/system/write_file.h"

namespace dikkat {

namespace {

/// After this many interruptions in a row a call fails, so that endless signals cause an error and not a hang.
constexpr int kMaxInterruptions = 1000;

/// Returns the errno with which the plan makes this call fail; 0 for success, -1 if it must move only half of its bytes.
int injected_error(Faults* faults, Operation operation) {
  if (faults == nullptr || !faults->strikes(operation)) {
    return 0;
  }
  switch (faults->plan().effect) {
    case FaultPlan::Effect::kill: ::kill(::getpid(), SIGKILL); return 0;
    case FaultPlan::Effect::short_count: return -1;
    case FaultPlan::Effect::error: return faults->plan().error;
  }
  return 0;
}

/// Runs `call`, which returns -1 and sets errno if it fails. Repeats it after an interruption. Returns errno, or 0.
template <class Call>
int attempt(Faults* faults, Operation operation, Call&& call) {
  for (int interruptions = 0;; ++interruptions) {
    int error = injected_error(faults, operation);
    if (error <= 0) {
      error = call() < 0 ? errno : 0;
    }
    if (error != EINTR || interruptions == kMaxInterruptions) {
      return error;
    }
  }
}

/// Moves `size` bytes by calls of `move(done, count)`, each of which may move fewer bytes than requested. Returns errno, or 0;
/// `error_at_nothing` if a call moves none.
template <class Move>
int move_all(Faults* faults, Operation operation, std::size_t size, int error_at_nothing, Move&& move) {
  int interruptions = 0;
  for (std::size_t done = 0; done < size;) {
    const int fault = injected_error(faults, operation);
    const std::size_t count = fault < 0 ? (size - done + 1) / 2 : size - done;
    const ssize_t moved = fault > 0 ? -1 : move(done, count);
    const int error = fault > 0 ? fault : errno;
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
      interruptions = 0;
    } else if (moved == 0) {
      return error_at_nothing;
    } else if (error != EINTR || ++interruptions > kMaxInterruptions) {
      return error;
    }
  }
  return 0;
}

int read_at(Faults* faults, int descriptor, index offset, std::span<std::byte> out) {
  return move_all(faults, Operation::read, out.size(), ENODATA, [&](std::size_t done, std::size_t count) {
    return ::pread(descriptor, out.data() + done, count, offset + static_cast<index>(done));
  });
}

int write_at(Faults* faults, int descriptor, index offset, std::span<const std::byte> bytes) {
  return move_all(faults, Operation::write, bytes.size(), EIO, [&](std::size_t done, std::size_t count) {
    return ::pwrite(descriptor, bytes.data() + done, count, offset + static_cast<index>(done));
  });
}

}  // namespace

int read_all(int descriptor, index offset, std::span<std::byte> out) { return read_at(nullptr, descriptor, offset, out); }

int write_all(int descriptor, index offset, std::span<const std::byte> bytes) { return write_at(nullptr, descriptor, offset, bytes); }

int read_next(int descriptor, std::span<std::byte> out, index& got) {
  return attempt(nullptr, Operation::read, [&] {
    got = ::read(descriptor, out.data(), out.size());
    return got < 0 ? -1 : 0;
  });
}

int open_for_appending(const std::filesystem::path& path, Descriptor& descriptor) {
  descriptor = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  struct stat status{};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) {
    return errno;
  }
  return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

int append_line(int descriptor, std::string line) {
  struct stat before{};
  if (::fstat(descriptor, &before) != 0) {
    return errno;
  }
  std::byte last{'\n'};
  if (const int error = before.st_size > 0 ? read_all(descriptor, before.st_size - 1, {&last, 1}) : 0) {
    return error;
  }
  line.insert(0, last == std::byte{'\n'} ? "" : "\n");
  const int error = write_all(descriptor, before.st_size, std::as_bytes(std::span(line)));  // O_APPEND: at the end, whatever the offset
  if (error != 0) {
    static_cast<void>(cut_file(descriptor, before.st_size));  // the first error counts
  }
  return error;
}

int cut_file(int descriptor, index bytes) {
  return attempt(nullptr, Operation::truncate, [&] { return ::ftruncate(descriptor, bytes); });
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), faults_(other.faults_), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(faults_, other.faults_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

int File::create(const std::filesystem::path& path, Faults* faults) {
  faults_ = faults;
  path_ = path;
  return attempt(faults, Operation::open,
                 [&] { return descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666); });
}

bool is_fault_of_path(int error) {
  constexpr int kFaults[] = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM, EISDIR, ENXIO, EINVAL, EEXIST, EROFS};
  return std::find(std::begin(kFaults), std::end(kFaults), error) != std::end(kFaults);
}

File File::open_regular(const std::filesystem::path& path) {
  struct stat info{};
  // Check before opening, because opening a device can have effects, and after it, because the name may then refer to another file.
  require_path(::stat(path.c_str(), &info) == 0 ? 0 : errno, "cannot be read");
  require_input(!S_ISDIR(info.st_mode), "is a directory, expected a file");
  require_input(S_ISREG(info.st_mode), "is not a regular file (a pipe, socket or device)");
  File file;
  const int error = attempt(nullptr, Operation::open,
                            [&] { return file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  require_path(error, "cannot be read");
  require_input(::fstat(file.descriptor_, &info) == 0 && S_ISREG(info.st_mode), "is not a regular file");
  return file;
}

int File::open_any(const std::filesystem::path& path) {
  return attempt(nullptr, Operation::open, [&] { return descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); });
}

int File::read_next(std::span<std::byte> out, index& got) const { return dikkat::read_next(descriptor_, out, got); }

int File::read(index offset, std::span<std::byte> out) const { return read_at(faults_, descriptor_, offset, out); }

int File::write(index offset, std::span<const std::byte> bytes) { return write_at(faults_, descriptor_, offset, bytes); }

int File::allocate(index bytes) {
  return accept_missing(Guard::reservation, path_.parent_path(), attempt(faults_, Operation::allocate, [&] {
                          errno = ::posix_fallocate(descriptor_, 0, bytes);
                          return errno == 0 ? 0 : -1;
                        }));
}

int File::truncate(index bytes) {
  return attempt(faults_, Operation::truncate, [&] { return ::ftruncate(descriptor_, bytes); });
}

// A failed sync is never repeated, because the kernel has by then dropped the unwritten pages. An interrupted sync has not failed.
int File::sync() {
  return accept_missing(Guard::sync, path_.parent_path(), attempt(faults_, Operation::sync, [&] { return ::fsync(descriptor_); }));
}

int sync_descriptor(int descriptor, const std::filesystem::path& path) {
  return accept_missing(Guard::sync, path, attempt(nullptr, Operation::sync, [&] { return ::fsync(descriptor); }));
}

int lock_descriptor(int descriptor, Faults* faults) {
  return attempt(faults, Operation::lock, [&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
}

int File::close() {
  const int fault = injected_error(faults_, Operation::close);
  const int result = ::close(std::exchange(descriptor_, -1));
  const int error = fault > 0 ? fault : result < 0 ? errno : 0;
  return error == EINTR ? 0 : error;  // after EINTR Linux has closed the descriptor too; sync() has written the data
}

Descriptor File::duplicate() const { return Descriptor(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)); }

index File::size() const {
  struct stat info{};
  require_done(attempt(faults_, Operation::size, [&] { return ::fstat(descriptor_, &info); }), Operation::size);
  return info.st_size;
}

bool is_there(const std::filesystem::path& path) {
  struct stat info{};
  const int error = ::stat(path.c_str(), &info) == 0 ? 0 : errno;
  if (error == 0) {
    return true;
  }
  if (const std::string link = link_text(path); !link.empty() && (error == ENOENT || error == ENOTDIR || error == ELOOP)) {
    throw PathError(concat(path.string(), link, " is a dangling link: ", describe_errno(error), "; restore its target, or remove the link"),
                    error);
  }
  require(error == ENOENT || error == ENOTDIR, path.string(), " cannot be examined: ", describe_errno(error));
  return false;
}

bool is_taken(const std::filesystem::path& name) {
  struct stat info{};
  const int error = ::lstat(name.c_str(), &info) == 0 ? 0 : errno;
  require_path(error == ENOENT || error == ENOTDIR ? 0 : error, name.string(), " cannot be examined");
  return error == 0;
}

bool is_at(const Descriptor& descriptor, const std::filesystem::path& path) {
  struct stat held{};
  struct stat there{};
  require(::fstat(descriptor.get(), &held) == 0, path.string(), " cannot be examined: ", errno_text);
  const int error = ::stat(path.c_str(), &there) == 0 ? 0 : errno;
  require(error == 0 || error == ENOENT || error == ENOTDIR, path.string(), " cannot be examined: ", describe_errno(error));
  return error == 0 && held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

std::string link_text(const std::filesystem::path& path) {
  std::error_code none;
  const std::filesystem::path target = std::filesystem::read_symlink(path, none);
  return none ? "" : concat(" (a link to ", target.string(), ")");
}

int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    return errno;
  }
  // Old file systems, such as NFS, cannot do this. Giving the file a second name is as atomic, where it is possible.
  if (::link(from.c_str(), to.c_str()) == 0) {
    return ::unlink(from.c_str()) == 0 ? 0 : errno;
  }
  struct stat info{};
  if (errno == EEXIST || ::lstat(to.c_str(), &info) == 0) {
    return EEXIST;
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int rename_file(const std::filesystem::path& from, const std::filesystem::path& to, Faults* faults) {
  return attempt(faults, Operation::rename, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int sync_directory(const std::filesystem::path& directory, Faults* faults) {
  const int synced = attempt(faults, Operation::sync_directory, [&] {
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
      return -1;
    }
    const int result = ::fsync(descriptor);
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return result;
  });
  return accept_missing(Guard::sync, directory, synced);
}

void require_done(int error, Operation operation) { require(error == 0, name_of(operation), " failed: ", describe_errno(error)); }

namespace {

std::filesystem::path name_aside(const std::filesystem::path& path, int number) {
  return number == 1 ? path.string() + ".aside" : concat(path.string(), ".aside-", number);
}

}  // namespace

std::filesystem::path name_aside(const std::filesystem::path& path) {
  int number = 1;
  while (is_taken(name_aside(path, number))) {
    ++number;
  }
  return name_aside(path, number);
}

std::filesystem::path set_aside(const std::filesystem::path& path) {
  for (int number = 1;; ++number) {
    std::filesystem::path aside = name_aside(path, number);
    const int error = rename_to_new(path, aside);
    require(error == 0 || error == EEXIST, path.string(), ": cannot be renamed: ", describe_errno(error));
    if (error == 0) {
      return aside;
    }
  }
}

std::string read_bytes(const std::filesystem::path& path, index most) {
  File file;
  require_path(file.open_any(path), path.string(), ": cannot be read");
  std::string text;
  constexpr index kPart = index{1} << 16;
  text.reserve(static_cast<std::size_t>(std::min(most, file.size() + kPart)));  // a pipe has size 0
  for (index got = 1; got > 0;) {
    const auto before = static_cast<index>(text.size());
    text.resize(static_cast<std::size_t>(before + std::min(most - before, kPart)));
    const int error = file.read_next(std::as_writable_bytes(std::span(text)).subspan(static_cast<std::size_t>(before)), got);
    require_path(error, path.string(), ": cannot be read");
    text.resize(static_cast<std::size_t>(before + got));
  }
  return text;
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, static_cast<index>(text.size()), [&](ByteSink& sink) { sink.put(std::as_bytes(std::span(text))); });
}

}  // namespace dikkat
