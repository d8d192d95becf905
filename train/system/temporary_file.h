#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "train/system/descriptor.h"
#include "train/system/file.h"

// Files and folders are made under a hidden name, and get their final names when they are complete. The hidden name is locked meanwhile. So
// a later writer of the same name recognizes and removes the files of a killed one.
namespace dikkat {

/// Hidden names begin with this.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// The name of a file or folder that the destructor removes, once it exists, unless keep() was called.
class Provisional {
 public:
  Provisional() = default;
  explicit Provisional(std::filesystem::path path) : path_(std::move(path)) {}
  Provisional(const Provisional&) = delete;
  Provisional& operator=(const Provisional&) = delete;
  ~Provisional();

  /// Takes a name that exists now. `lock` protects it from remove_leftovers() until this is destroyed.
  void hold(std::filesystem::path path, Descriptor lock);
  /// Locks the file or folder. Returns whether no other process holds the lock and the name still refers to it. Throws Error if that is
  /// unknown.
  [[nodiscard]] bool lock();
  void created() { exists_ = true; }
  void keep() { exists_ = false; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_{};
  bool exists_ = false;
  Descriptor lock_{-1};
};

/// Creates a file in `folder` whose name begins with ".tmp-STEM-". The process's id is not unique: another program may run in a container
/// or on another machine, and a killed program may have left its file. Throws Error.
File create_temporary(const std::filesystem::path& folder, const std::string& stem, Provisional& name, Faults* faults);
/// Creates a folder with such a name. Throws Error.
void create_temporary_folder(const std::filesystem::path& folder, const std::string& stem, Provisional& name);

/// Removes the hidden files and folders of this stem that no living writer has locked, except `own`. Without locks, removes those that are
/// an hour older than `own`: a living writer has written to its own within that time. Skips those that cannot be removed. Returns how many
/// were removed.
index remove_leftovers(const std::filesystem::path& folder, const std::string& stem, const std::filesystem::path& own = {});

/// Removes all hidden files in a folder. Its lock, which the caller holds, shows that nobody writes them. Returns how many there were.
/// Throws as require_path() does if the folder cannot be listed.
index remove_temporaries(const std::filesystem::path& folder);

}  // namespace dikkat
