#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// A file that is mapped into memory, read-only. The system loads the pages that are used.
class MappedFile {
 public:
  /// Throws InputError if it cannot be opened or is not a regular file.
  explicit MappedFile(const std::string& path);
  /// Maps the file of this descriptor, which the caller keeps and closes.
  MappedFile(std::string path, int descriptor);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Drops the pages that were used from this process's memory. They are read again when needed.
  void forget() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The path of the mapped file that contains this address, or null. For a handler of SIGBUS, which the system sends when a mapped file is
/// truncated or its disk fails. Takes no lock and allocates nothing. Of more than a thousand mapped files it knows the first thousand.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace dikkat
