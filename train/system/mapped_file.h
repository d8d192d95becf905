#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// A file that is mapped into memory, read-only. The system loads only the pages that are used.
class MappedFile {
 public:
  /// Maps the file. Throws InputError if it cannot be opened or is not a regular file.
  explicit MappedFile(const std::string& path);
  /// Maps the file of this descriptor, which the caller keeps and closes.
  MappedFile(std::string path, int descriptor);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Drops the file's pages from this process's memory. They are read again when needed.
  void forget() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns the path of the mapped file that contains this address, or null. This is for a handler of SIGBUS, which the system sends when a
/// mapped file is truncated or its disk fails. It takes no lock, allocates nothing, and finds only the first 1024 mapped files.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace dikkat
