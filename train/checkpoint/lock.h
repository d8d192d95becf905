#pragma once

#include <filesystem>

// The lock of a folder that has one writer, such as a run directory: an open file FOLDER/.lock, which is locked until it is closed.
namespace dikkat {

inline constexpr const char* kLockName = ".lock";

/// Opens and locks the folder's lock file and returns its descriptor; creates it if needed. It is never removed, because a removed and
/// recreated file could be locked twice. O_NOFOLLOW, because it will be written to. Throws InputError if it cannot be written, or is
/// locked; the message has the id of the process that holds it.
int take_lock(const std::filesystem::path& folder);
/// Whether some process holds the folder's lock now. Writes nothing; holds a shared lock for a moment.
bool is_locked(const std::filesystem::path& folder);
/// Writes this process's id to the lock file.
void sign_lock(int lock, const std::filesystem::path& folder);

}  // namespace dikkat
