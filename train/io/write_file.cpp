#include "train/io/write_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <unistd.h>

#include "autograd/base/error.h"
#include "train/io/file.h"
#include "train/io/free_space.h"

namespace dikkat {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

/// Collects bytes into larger blocks and hands each to `take(offset, block)`.
class BlockSink : public ByteSink {
 public:
  explicit BlockSink(index bytes) : bytes_(bytes) { buffer_.reserve(static_cast<std::size_t>(std::min(bytes, index{kBufferBytes}))); }

  void put(std::span<const std::byte> bytes) override {
    require(static_cast<index>(bytes.size()) <= bytes_ - put_, "more than the announced ", bytes_, " bytes were to be written");
    put_ += static_cast<index>(bytes.size());
    while (!bytes.empty()) {
      const auto some = bytes.first(std::min(bytes.size(), kBufferBytes - buffer_.size()));
      buffer_.insert(buffer_.end(), some.begin(), some.end());
      bytes = bytes.subspan(some.size());
      if (buffer_.size() == kBufferBytes) {
        flush();
      }
    }
  }
  void finish() {
    require(put_ == bytes_, put_, " bytes were to be written, and ", bytes_, " were announced");
    flush();
  }

 protected:
  virtual void take(index offset, std::span<const std::byte> block) = 0;

 private:
  void flush() {
    if (!buffer_.empty()) {
      take(taken_, buffer_);
      taken_ += static_cast<index>(buffer_.size());
      buffer_.clear();
    }
  }

  index bytes_;
  index put_ = 0;
  index taken_ = 0;
  std::vector<std::byte> buffer_{};
};

class WritingSink : public BlockSink {
 public:
  WritingSink(File& file, index bytes) : BlockSink(bytes), file_(file) {}

 private:
  void take(index offset, std::span<const std::byte> block) override { require_done(file_.write(offset, block), Operation::write); }

  File& file_;
};

class ComparingSink : public BlockSink {
 public:
  ComparingSink(const File& file, index bytes) : BlockSink(bytes), file_(file), found_(kBufferBytes) {}

 private:
  void take(index offset, std::span<const std::byte> block) override {
    const std::span<std::byte> found(found_.data(), block.size());
    require_done(file_.read(offset, found), Operation::read);
    require(std::memcmp(found.data(), block.data(), block.size()) == 0,
            "the file read back differs from what was written (or that was changed while it was being written)");
  }

  const File& file_;
  std::vector<std::byte> found_;
};

/// Removes the file of this name unless that has become the real one.
class TemporaryName {
 public:
  explicit TemporaryName(std::filesystem::path path) : path_(std::move(path)) {}
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() {
    if (exists_) {
      ::unlink(path_.c_str());
    }
  }
  void created() { exists_ = true; }
  void renamed() { exists_ = false; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool exists_ = false;
};

}  // namespace

void write_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  TemporaryName temporary(folder / concat(".tmp-", path.filename().string(), "-", ::getpid()));
  try {
    const std::string lack = lack_of_space(folder, bytes);
    require(lack.empty(), lack);
    File file;
    require_done(file.create(temporary.path(), faults), Operation::open);
    temporary.created();
    WritingSink writing(file, bytes);
    produce(writing);
    writing.finish();
    require_done(file.sync(), Operation::sync);
    require(file.size() == bytes, "the file has ", file.size(), " bytes, expected ", bytes);
    ComparingSink comparing(file, bytes);
    produce(comparing);
    comparing.finish();
    require_done(file.close(), Operation::close);
    require_done(rename_file(temporary.path(), path, faults), Operation::rename);
    temporary.renamed();
    require_done(sync_directory(folder, faults), Operation::sync_directory);
  } catch (const InputError&) {
    throw;  // what was to be written cannot be
  } catch (const Error& error) {
    fail(path.string(), ": cannot be written: ", error.what());
  }
}

}  // namespace dikkat
