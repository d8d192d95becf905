#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/system/mapped_file.h"

namespace dikkat {

/// A 64-bit sum for each page of some data. It finds changes that happen by accident; it does not protect against somebody who makes them
/// on purpose.
class PageSums {
 public:
  static constexpr std::size_t kPageBytes = std::size_t{16} << 10;

  /// For `bytes` bytes of data, of which no sum is known yet.
  explicit PageSums(std::size_t bytes) : bytes_(bytes), sums_((bytes + kPageBytes - 1) / kPageBytes) {}

  /// Sets the sums of some data, which begins at `offset` and is whole pages, or ends where all data ends. Threads may set different pages
  /// at once.
  void set(std::size_t offset, std::span<const std::byte> data);
  bool has(std::size_t page, std::span<const std::byte> data) const { return sums_.at(page) == sum_of(data); }
  std::size_t bytes() const { return bytes_; }

 private:
  static std::uint64_t sum_of(std::span<const std::byte> data);

  std::size_t bytes_;
  std::vector<std::uint64_t> sums_;
};

/// A mapped file that is read for a long time, in which other programs may write meanwhile. It knows a sum of each page from when the file
/// was read whole, and compares each page with its sum before it gives any byte of it. So what it gives is what was there at the beginning.
class CheckedFile {
 public:
  /// Maps the file and reads all of it. Calls `on_block`, if not empty, with the same bytes as the sums are made from, in order.
  explicit CheckedFile(const std::string& path, const std::function<void(std::span<const std::byte>)>& on_block = {});
  /// The file from byte `begin` on, whose pages have these sums.
  CheckedFile(std::shared_ptr<const MappedFile> file, std::size_t begin, PageSums sums);

  const std::string& path() const { return file_->path(); }
  /// The bytes from `begin` on.
  std::size_t size() const { return sums_.bytes(); }
  /// Copies bytes from `offset` on, counted from `begin`. Throws InputError, which names the file, if what was there has changed.
  void read(std::size_t offset, std::span<std::byte> out) const;
  /// As MappedFile::forget().
  void forget() const { file_->forget(); }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::size_t begin_ = 0;
  PageSums sums_;
  std::uint64_t number_;  // of this object in the process
};

}  // namespace dikkat
