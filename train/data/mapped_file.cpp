#include "train/data/mapped_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

// Asked from a signal handler: no lock, no list that moves.
std::array<std::atomic<const MappedFile*>, 1024> mapped_files{};

void replace_first(const MappedFile* old_file, const MappedFile* new_file) {
  for (auto& slot : mapped_files) {
    const MappedFile* expected = old_file;
    if (slot.compare_exchange_strong(expected, new_file)) {
      return;
    }
  }
}

}  // namespace

const char* mapped_file_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& slot : mapped_files) {
    if (const MappedFile* file = slot.load()) {
      const auto begin = reinterpret_cast<std::uintptr_t>(file->data());
      if (begin <= at && at - begin < file->size()) {
        return file->path().c_str();
      }
    }
  }
  return nullptr;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  require_input(file >= 0, path, ": cannot be opened: ", errno_text);
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  size_ = is_regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* mapping = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  const int error = errno;
  ::close(file);
  require_input(is_regular, path, " is no regular file, expected one");
  require_input(mapping != MAP_FAILED, path, ": cannot be mapped into memory: ", describe_errno(error));
  data_ = static_cast<const std::byte*>(mapping);
  if (data_ != nullptr) {
    replace_first(nullptr, this);
  }
}

void MappedFile::forget() const {
  if (data_ != nullptr) {
    ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    replace_first(this, nullptr);
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

}  // namespace dikkat
