#include "train/system/write_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/system/free_space.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

/// Collects bytes into larger blocks and hands each to `take(offset, block)`.
class BlockSink : public ByteSink {
 public:
  explicit BlockSink(index bytes) : bytes_(bytes) { buffer_.reserve(static_cast<std::size_t>(std::min(bytes, index{kBufferBytes}))); }

  void put(std::span<const std::byte> bytes) override {
    require(static_cast<index>(bytes.size()) <= bytes_ - bytes_put_, "more bytes were produced than the announced ", bytes_);
    bytes_put_ += static_cast<index>(bytes.size());
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
    require(bytes_put_ == bytes_, bytes_put_, " bytes were produced, expected the announced ", bytes_);
    flush();
  }

 protected:
  virtual void take(index offset, std::span<const std::byte> block) = 0;

 private:
  void flush() {
    if (!buffer_.empty()) {
      take(bytes_taken_, buffer_);
      bytes_taken_ += static_cast<index>(buffer_.size());
      buffer_.clear();
    }
  }

  index bytes_;
  index bytes_put_ = 0;
  index bytes_taken_ = 0;
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
  ComparingSink(const File& file, index bytes) : BlockSink(bytes), file_(file), read_buffer_(kBufferBytes) {}

 private:
  void take(index offset, std::span<const std::byte> block) override {
    const std::span<std::byte> found(read_buffer_.data(), block.size());
    require_done(file_.read(offset, found), Operation::read);
    require(std::memcmp(found.data(), block.data(), block.size()) == 0,
            "the file read back differs from what was written (or the data was changed while it was being written)");
  }

  const File& file_;
  std::vector<std::byte> read_buffer_;
};

/// Writes the file. `place` renames the temporary file to its final name, and returns errno, or 0.
void write(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults,
           const std::function<int(const std::filesystem::path&)>& place) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  Provisional temporary;
  try {
    File file = create_temporary(folder, path.filename().string(), temporary, faults);
    remove_leftovers(folder, path.filename().string(), temporary.path());
    const std::string lack = lack_of_space(folder, bytes);
    require(lack.empty(), lack);
    WritingSink writing(file, bytes);
    produce(writing);
    writing.finish();
    require_done(file.sync(), Operation::sync);
    require(file.size() == bytes, "the file has ", file.size(), " bytes, expected ", bytes);
    ComparingSink comparing(file, bytes);
    produce(comparing);
    comparing.finish();
    require_done(file.close(), Operation::close);
    require_done(place(temporary.path()), Operation::rename);
    temporary.keep();
    require_done(sync_directory(folder, faults), Operation::sync_directory);
  } catch (const InputError&) {
    throw;  // `produce` has refused its data, or `place` the name
  } catch (const Error& error) {
    fail(path.string(), ": cannot be written: ", error.what());
  }
}

}  // namespace

void write_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults) {
  write(path, bytes, produce, faults, [&](const std::filesystem::path& temporary) { return rename_file(temporary, path, faults); });
}

void write_new_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce) {
  write(path, bytes, produce, nullptr, [&](const std::filesystem::path& temporary) {
    const int error = rename_to_new(temporary, path);
    require_input(error != EEXIST, path.string(), " already exists and is not overwritten; choose another name");
    return error;
  });
}

}  // namespace dikkat
