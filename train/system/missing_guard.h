#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace dikkat {

/// A guard that a file system may lack. Files can be written without it, but are not protected.
enum class Guard : std::uint8_t {
  lock,         ///< flock(), which refuses a second writer
  sync,         ///< fsync(), which makes written data survive a power failure
  reservation,  ///< fallocate(), which notices a full disk before anything is written
};

/// Returns whether the errno of such a call means that the file system lacks the guard (NFS without a lock daemon, Lustre, some FUSE file
/// systems). Other values are failures, such as a disk error.
bool is_missing(Guard guard, int error);

/// Returns 0 if is_missing(), after reporting the missing guard, so that the caller continues; otherwise returns `error`. Thread-safe.
[[nodiscard]] int accept_missing(Guard guard, const std::filesystem::path& path, int error);

/// Sets the function that receives a warning about each missing guard, once for each. Until then nothing is reported.
void on_missing_guard(std::function<void(const std::string& sentence)> report);

}  // namespace dikkat
