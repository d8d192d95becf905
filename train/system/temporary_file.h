#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "train/system/file.h"

namespace dikkat {

/// The name of a file that the destructor removes, once it exists, unless keep() was called.
class ProvisionalFile {
 public:
  ProvisionalFile() = default;
  explicit ProvisionalFile(std::filesystem::path path) : path_(std::move(path)) {}
  ProvisionalFile(const ProvisionalFile&) = delete;
  ProvisionalFile& operator=(const ProvisionalFile&) = delete;
  ~ProvisionalFile();

  void set(std::filesystem::path path) { path_ = std::move(path); }
  void created() { exists_ = true; }
  void keep() { exists_ = false; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_{};
  bool exists_ = false;
};

/// Creates a file in `folder` whose name begins with ".tmp-STEM-". The process's id does not make names unique: another program may run in
/// a container or on another machine, and a killed program may have left its file behind. Throws Error.
File create_temporary(const std::filesystem::path& folder, const std::string& stem, ProvisionalFile& name, Faults* faults);

/// Removes what killed writers of `file` have left beside it: temporary files whose stem is its name, and which are an hour older than it.
/// A writer that lives has written to its own within that time. What cannot be removed stays.
void remove_old_temporaries(const std::filesystem::path& file);

}  // namespace dikkat
