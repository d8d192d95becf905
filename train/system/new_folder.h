#pragma once

#include <filesystem>

#include "train/system/temporary_file.h"

namespace dikkat {

/// A folder that is filled under a hidden name and gets its final name when it is complete. Overwrites nothing. What killed writers of the
/// same folder have left is removed (train/system/temporary_file.h).
class NewFolder {
 public:
  /// Creates the hidden folder beside `target`, and the parents of both.
  explicit NewFolder(std::filesystem::path target);

  /// The hidden folder. The destructor removes it with all its contents, unless finish() has succeeded.
  const std::filesystem::path& path() const { return hidden_.path(); }
  /// Gives the folder its final name. An empty folder with that name is replaced. Throws InputError if the name exists otherwise, and Error
  /// if the folder cannot be renamed.
  void finish();

 private:
  std::filesystem::path target_;
  Provisional hidden_{};
};

}  // namespace dikkat
