#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// A file's bytes as memory, to be read: as much of it is in memory as is being looked at.
class MappedFile {
 public:
  /// Throws InputError when it cannot be opened or is no regular file.
  explicit MappedFile(const std::string& path);
  /// The file of this descriptor, which stays the caller's.
  MappedFile(std::string path, int descriptor);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// What was looked at counts as this process's memory no more; it is read again when it is asked for.
  void forget() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The path of the mapped file that has this address, or null: for a handler of SIGBUS, which comes when a file is cut short, or its disk
/// fails, while it is mapped. Takes no lock and no memory; of more than a thousand mapped files it knows the first thousand.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace dikkat
