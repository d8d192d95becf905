#include "train/system/mapped_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/descriptor.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

// A signal handler reads this table, so it has no lock, and entries never move.
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

namespace {

Descriptor open_to_read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  require_path(descriptor >= 0 ? 0 : errno, path, ": cannot be opened");
  return Descriptor(descriptor);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : MappedFile(path, open_to_read(path).get()) {}

MappedFile::MappedFile(std::string path, int descriptor) : path_(std::move(path)) {
  struct stat status{};
  require_input(::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode), path_, " is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapping = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  require_input(mapping != MAP_FAILED, path_, ": cannot be mapped into memory: ", errno_text,
                errno == ENODEV ? "; its file system does not support mapped files: copy it to another one" : "");
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
