#include "train/data/corpus/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/data/corpus/gunzip.h"
#include "train/data/corpus/unzstd.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

class FileBytes : public ByteSource {
 public:
  FileBytes(const std::string& path, const std::string& name) : name_(name) {
    struct stat before{};
    require_path(::stat(path.c_str(), &before) == 0 ? 0 : errno, "corpus: cannot open ", name);
    // The file's type is checked before it is opened, because opening a device may act on it.
    require_input(S_ISREG(before.st_mode), "corpus: ", name, " is not a regular file, expected a text file");
    // The file may have been replaced by a FIFO since stat(). Without O_NONBLOCK, opening it would hang.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    require_path(descriptor_ >= 0 ? 0 : errno, "corpus: cannot open ", name);
    struct stat status{};
    const bool is_regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    if (!is_regular) {
      ::close(descriptor_);
      fail_input("corpus: ", name, " is not a regular file, expected a text file");
    }
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~FileBytes() override { ::close(descriptor_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::size_t read(char* out, std::size_t bytes) override {
    index got = 0;
    const int error = read_next(descriptor_, {reinterpret_cast<std::byte*>(out), bytes}, got);
    require(error == 0, "corpus: cannot read ", name_, ": ", describe_errno(error));
    return static_cast<std::size_t>(got);
  }

 private:
  std::string name_;
  int descriptor_ = -1;
};

/// Returns the bytes that have been read ahead, then the rest of the source.
class WithStart : public ByteSource {
 public:
  WithStart(std::string start, std::unique_ptr<ByteSource> rest) : start_(std::move(start)), rest_(std::move(rest)) {}

  std::size_t read(char* out, std::size_t bytes) override {
    if (at_ == start_.size()) {
      return rest_->read(out, bytes);
    }
    const std::size_t count = start_.copy(out, bytes, at_);
    at_ += count;
    // The first block must be filled, because it shows the kind of the file.
    return count < bytes ? count + rest_->read(out + count, bytes - count) : count;
  }

 private:
  std::string start_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

std::size_t append(ByteSource& source, std::size_t bytes, std::string& text) {
  const std::size_t had = text.size();
  text.resize(had + bytes);
  const std::size_t got = source.read(text.data() + had, bytes);
  text.resize(had + got);
  return got;
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, const std::string& name) {
  constexpr std::string_view kGzip = "\x1F\x8B";
  constexpr std::string_view kZstd = "\x28\xB5\x2F\xFD";
  auto file = std::make_unique<FileBytes>(path, name);
  std::string start(kZstd.size(), '\0');
  std::size_t size = 0;
  for (std::size_t got = 1; got > 0 && size < start.size(); size += got) {
    got = file->read(start.data() + size, start.size() - size);
  }
  start.resize(size);
  const bool is_gzip = start.starts_with(kGzip);
  const bool is_zstd = start == kZstd;
  auto whole = std::make_unique<WithStart>(std::move(start), std::move(file));
  return is_gzip ? gunzip(std::move(whole), name) : is_zstd ? unzstd(std::move(whole), name) : std::move(whole);
}

}  // namespace dikkat
