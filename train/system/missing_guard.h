#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace dikkat {

/// A guard that a file system may lack. Files can be written without it, but unprotected.
enum class Guard : std::uint8_t {
  lock,         ///< flock(): a second writer is refused
  sync,         ///< fsync(): what was written survives a power failure
  reservation,  ///< fallocate(): a full disk is noticed before anything is written
};

/// Whether the errno of such a call says that the file system does not have it (NFS without a lock daemon, Lustre, some FUSE file
/// systems), as opposed to a failure, such as a disk error.
bool is_missing(Guard guard, int error);

/// 0 if is_missing(): the loss is reported, and the caller goes on. Else `error` itself. Thread-safe.
[[nodiscard]] int accept_missing(Guard guard, const std::filesystem::path& path, int error);

/// Sets who hears of missing guards, each once in the life of the program. Nobody does at first.
void on_missing_guard(std::function<void(const std::string& sentence)> report);

}  // namespace dikkat
