#pragma once

#include <filesystem>

#include "train/system/temporary_file.h"

namespace dikkat {

/// A folder that is filled under a hidden name and gets its final name when it is complete. Overwrites nothing. Removes the remains of
/// killed writers of the same folder (train/system/temporary_file.h).
class NewFolder {
 public:
  /// Creates the hidden folder next to `target`, and the parents of both.
  explicit NewFolder(std::filesystem::path target);

  /// Returns the hidden folder. The destructor removes it with all its contents, unless finish() has succeeded.
  const std::filesystem::path& path() const { return hidden_.path(); }
  /// Renames the folder to its final name, which may be that of an empty folder. Throws InputError if the name exists otherwise, and Error
  /// if the folder cannot be renamed.
  void finish();

 private:
  std::filesystem::path target_;
  Provisional hidden_{};
};

}  // namespace dikkat
