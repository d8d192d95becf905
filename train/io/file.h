#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/io/faults.h"

namespace dikkat {

/// An open descriptor, closed with the object. Calls that do I/O return errno, 0 for success: they are used below C code
/// that no exception may cross. They resume after EINTR and short counts, and give up when nothing moves any more.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  /// A new file, to be read and written; EEXIST if there is one. `faults` (may be null) must outlive the file.
  [[nodiscard]] int create(const std::filesystem::path& path, Faults* faults);
  /// An existing regular file, read-only. A FIFO, device or folder is never opened: throws InputError ("is a directory, ..."),
  /// as for a file that is missing or unreadable, and Error where that may pass (a failing disk, too many open files); the text lacks the
  /// path.
  static File open_regular(const std::filesystem::path& path);

  /// ENODATA where the file ends before the span does.
  [[nodiscard]] int read(index offset, std::span<std::byte> out) const;
  [[nodiscard]] int write(index offset, std::span<const std::byte> bytes);
  /// Reserves disk space for the first `bytes` bytes.
  [[nodiscard]] int allocate(index bytes);
  [[nodiscard]] int truncate(index bytes);
  [[nodiscard]] int sync();
  /// The descriptor is gone whatever the result.
  [[nodiscard]] int close();
  /// Bytes; throws Error if it cannot be found out.
  index size() const;

 private:
  int descriptor_ = -1;
  Faults* faults_ = nullptr;
};

// The same for a descriptor that is not a File: errno, or 0 for success.

/// All of `out` from byte `offset` on; ENODATA where the file ends before.
[[nodiscard]] int read_all(int descriptor, index offset, std::span<std::byte> out);
[[nodiscard]] int write_all(int descriptor, index offset, std::span<const std::byte> bytes);
/// What comes next of a file or a pipe: `got` bytes, 0 at its end alone.
[[nodiscard]] int read_next(int descriptor, std::span<std::byte> out, index& got);

/// Whether this errno of opening, making or listing a file or folder says that the path is wrong, which a user can mend. The others are
/// failures of the machine, which may pass: a failing disk, too many open files.
bool is_fault_of_path(int error);

/// Throws "<parts>: <the system's words>" unless error is 0: InputError where is_fault_of_path(), else Error.
template <class... Parts>
void require_path(int error, const Parts&... parts) {
  if (error != 0) {
    const std::string text = concat(parts..., ": ", describe_errno(error));
    is_fault_of_path(error) ? fail_input(text) : fail(text);
  }
}

/// Whether there is such a file or folder. Throws Error where that cannot be found out: a failing disk is not an empty one.
bool is_there(const std::filesystem::path& path);

[[nodiscard]] int rename_file(const std::filesystem::path& from, const std::filesystem::path& to, Faults* faults);
/// Makes names created, renamed or removed in the folder survive a power cut.
[[nodiscard]] int sync_directory(const std::filesystem::path& directory, Faults* faults);

/// Throws Error "<operation> failed: <words>" unless error is 0.
void require_done(int error, Operation operation);

/// The first of <name>.aside, .aside-2 ... that is free.
std::filesystem::path name_aside(const std::filesystem::path& path);
/// Renames the file to that, and gives its new path. Throws Error if it cannot be renamed.
std::filesystem::path set_aside(const std::filesystem::path& path);

/// Puts `text` in place of the file at `path`, or leaves that as it was and throws Error: never anything between.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace dikkat
