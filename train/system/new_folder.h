#pragma once

#include <filesystem>

namespace dikkat {

/// A folder that is filled under another name, NAME.partial, and gets its own when it is complete. Overwrites nothing.
class NewFolder {
 public:
  /// Creates the folder for `target`. Takes NAME.partial-2 ... if something has that name.
  explicit NewFolder(std::filesystem::path target);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes it with all that is in it, unless finish() has succeeded.
  ~NewFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Gives it its name. Throws InputError if something has that by then, Error if it cannot be renamed.
  void finish();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_{};
  bool is_finished_ = false;
};

}  // namespace dikkat
