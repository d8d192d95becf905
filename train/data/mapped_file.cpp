#include "train/data/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  require_input(file >= 0, path, ": cannot be opened: ", describe_errno(errno));
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  size_ = is_regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* mapping = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  const int error = errno;
  ::close(file);
  require_input(is_regular, path, " is no regular file, expected one");
  require_input(mapping != MAP_FAILED, path, ": cannot be mapped into memory: ", describe_errno(error));
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

}  // namespace dikkat
