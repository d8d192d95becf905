#pragma once

#include <filesystem>

namespace dikkat {

/// A folder that is filled under the name NAME.partial and gets its final name when it is complete. Overwrites nothing.
class NewFolder {
 public:
  /// Creates the folder for `target`. Its name is NAME.partial, or NAME.partial-2 ... if that exists.
  explicit NewFolder(std::filesystem::path target);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes the folder with all its contents, unless finish() has succeeded.
  ~NewFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Gives the folder its final name. Throws InputError if that name exists by then, Error if the folder cannot be renamed.
  void finish();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_{};
  bool is_finished_ = false;
};

}  // namespace dikkat
