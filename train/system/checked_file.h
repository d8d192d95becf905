#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/system/mapped_file.h"

namespace dikkat {

/// Has a 64-bit sum for each page of some data. The sums detect accidental changes, not deliberate ones.
class PageSums {
 public:
  static constexpr std::size_t kPageBytes = std::size_t{16} << 10;

  /// Makes room for the sums of `bytes` bytes of data, none of which is known yet.
  explicit PageSums(std::size_t bytes) : bytes_(bytes), sums_((bytes + kPageBytes - 1) / kPageBytes) {}

  /// Sets the sums of `data`, which begins at `offset` and consists of whole pages, except at the end of all data. Threads may set
  /// different pages at once.
  void set(std::size_t offset, std::span<const std::byte> data);
  /// Returns whether `data` has the sum of this page.
  bool has(std::size_t page, std::span<const std::byte> data) const { return sums_.at(page) == sum_of(data); }
  std::size_t bytes() const { return bytes_; }

 private:
  static std::uint64_t sum_of(std::span<const std::byte> data);

  std::size_t bytes_;
  std::vector<std::uint64_t> sums_;
};

/// A mapped file that is in use for a long time, while other programs may write to it. The constructor reads the whole file and keeps a sum
/// of each page. Later reads compare each page with its sum first, so they return the bytes that were there at the start, or throw.
class CheckedFile {
 public:
  /// Maps the file and reads all of it. Calls `on_block`, if not empty, with the bytes that the sums are computed from, from first to last.
  explicit CheckedFile(const std::string& path, const std::function<void(std::span<const std::byte>)>& on_block = {});
  /// Uses the file starting at byte `begin`. Its pages must have these sums.
  CheckedFile(std::shared_ptr<const MappedFile> file, std::size_t begin, PageSums sums);

  const std::string& path() const { return file_->path(); }
  /// Returns the number of bytes after `begin`.
  std::size_t size() const { return sums_.bytes(); }
  /// Fills `out` with the bytes at `offset`, counted from `begin`. Throws InputError, which names the file, if they have changed.
  void read(std::size_t offset, std::span<std::byte> out) const;
  /// Calls MappedFile::forget().
  void forget() const { file_->forget(); }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::size_t begin_ = 0;
  PageSums sums_;
  std::uint64_t number_;  // identifies this object in the process
};

}  // namespace dikkat
