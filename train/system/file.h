#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/system/descriptor.h"
#include "train/system/faults.h"

namespace dikkat {

/// An open file, which the destructor closes. Functions that do I/O return errno, or 0 for success: C code calls them, and no exception may
/// pass through it. They continue after EINTR and short counts, and give up when they make no more progress.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// Creates a file for reading and writing; EEXIST if it exists. `faults` is for tests and may be null; it must outlive the file.
  [[nodiscard]] int create(const std::filesystem::path& path, Faults* faults);
  /// Opens an existing regular file, read-only. Throws InputError for a FIFO, device or folder, which it does not open ("is a directory,
  /// ..."), and for a file that is missing or unreadable. Throws Error for a failure that may be temporary (a failing disk, too many open
  /// files). Messages do not contain the path.
  static File open_regular(const std::filesystem::path& path);

  /// Opens a file, pipe or device for reading.
  [[nodiscard]] int open_any(const std::filesystem::path& path);
  /// Reads the next bytes and sets `got` to their count, 0 only at the end.
  [[nodiscard]] int read_next(std::span<std::byte> out, index& got) const;

  /// Fills all of `out` with the bytes at `offset`; ENODATA if the file is too short.
  [[nodiscard]] int read(index offset, std::span<std::byte> out) const;
  [[nodiscard]] int write(index offset, std::span<const std::byte> bytes);
  /// Reserves disk space for the first `bytes` bytes, if the file system can (train/system/missing_guard.h).
  [[nodiscard]] int allocate(index bytes);
  [[nodiscard]] int truncate(index bytes);
  /// Makes the contents survive a power failure, if the file system can.
  [[nodiscard]] int sync();
  /// Closes the descriptor, even if this returns an error.
  [[nodiscard]] int close();
  /// Returns another descriptor of the open file, which shares its lock; -1 if there are too many.
  Descriptor duplicate() const;
  /// Returns the size in bytes. Throws Error if the system does not report it.
  index size() const;

 private:
  int descriptor_ = -1;
  Faults* faults_ = nullptr;
  std::filesystem::path path_{};  ///< empty unless create() made the file
};

// These functions are for a descriptor that is not a File. They return errno, or 0 for success.

/// Fills all of `out` with the bytes at `offset`; ENODATA if the file is too short.
[[nodiscard]] int read_all(int descriptor, index offset, std::span<std::byte> out);
[[nodiscard]] int write_all(int descriptor, index offset, std::span<const std::byte> bytes);
/// Reads the next bytes of a file or pipe and sets `got` to their count, 0 only at the end.
[[nodiscard]] int read_next(int descriptor, std::span<std::byte> out, index& got);
/// Opens a regular file to which lines are appended, and creates it if it does not exist; EINVAL for anything else.
[[nodiscard]] int open_for_appending(const std::filesystem::path& path, Descriptor& descriptor);
/// Appends a line to such a file, after a line break if it ends without one. After an error the file has its old size.
[[nodiscard]] int append_line(int descriptor, std::string line);
/// Removes all but the first `bytes` of a file.
[[nodiscard]] int cut_file(int descriptor, index bytes);

/// Returns whether this errno, from opening, creating or listing a file or folder, means a wrong path, which the user can correct. Other
/// values are failures of the machine, which may be temporary: a failing disk, too many open files.
bool is_fault_of_path(int error);

/// An InputError about a path that cannot be used, with the errno. The contents of the file are unknown.
class PathError : public InputError {
 public:
  PathError(const std::string& text, int error) : InputError(text), error_(error) {}
  int error() const { return error_; }

 private:
  int error_;
};

/// Throws "<parts>: <the system's message>" unless `error` is 0: a PathError if is_fault_of_path(), otherwise an Error.
template <class... Parts>
void require_path(int error, const Parts&... parts) {
  if (error != 0) {
    const std::string text = concat(parts..., ": ", describe_errno(error));
    if (is_fault_of_path(error)) {
      throw PathError(text, error);
    }
    fail(text);
  }
}

/// Returns whether the file or folder exists. Throws Error if that is unknown, because a failing disk is not an empty one. Throws PathError
/// for a dangling link, because its target may be on a disk that is not mounted.
bool is_there(const std::filesystem::path& path);
/// Returns whether something has this name: a file, a folder, or a link, even a dangling one. Throws as require_path() does if that is
/// unknown.
bool is_taken(const std::filesystem::path& name);
/// Returns whether the path still refers to the file or folder of this descriptor. Throws Error if that is unknown.
bool is_at(const Descriptor& descriptor, const std::filesystem::path& path);
/// Returns " (a link to X)" for a link, otherwise "".
std::string link_text(const std::filesystem::path& path);

[[nodiscard]] int rename_file(const std::filesystem::path& from, const std::filesystem::path& to, Faults* faults);
/// Renames a file or folder to an unused name; EEXIST if that name exists.
[[nodiscard]] int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to);
/// Syncs a folder, so that created, renamed and removed names in it survive a power failure, if the file system can.
[[nodiscard]] int sync_directory(const std::filesystem::path& directory, Faults* faults);
/// Syncs the file of this descriptor, if the file system can. `path` is for the warning if it cannot.
[[nodiscard]] int sync_descriptor(int descriptor, const std::filesystem::path& path);
/// Takes an exclusive lock (flock) without waiting. Returns errno, or 0; EWOULDBLOCK if another descriptor holds a lock.
[[nodiscard]] int lock_descriptor(int descriptor, Faults* faults);

/// Throws Error "<operation> failed: <the system's message>" unless error is 0.
void require_done(int error, Operation operation);

/// Returns the first of <path>.aside, <path>.aside-2 ... that does not exist.
std::filesystem::path name_aside(const std::filesystem::path& path);
/// Renames the file to such a name, and returns the name. Overwrites nothing. Throws Error if it cannot be renamed.
std::filesystem::path set_aside(const std::filesystem::path& path);

/// Reads a file or pipe, but at most its first `most` bytes. Throws InputError for a wrong path or a folder, and Error for a failure that
/// may be temporary (a failing disk). Messages begin with the path.
std::string read_bytes(const std::filesystem::path& path, index most = std::numeric_limits<index>::max());

/// Atomically replaces the file at `path` with one that has this text, as write_file() does (train/system/write_file.h).
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace dikkat
