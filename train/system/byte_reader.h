#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

namespace dikkat {

/// Returns the bytes as characters.
inline std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Reads a file in memory, starting at byte `at`, and throws instead of reading past the end.
class ByteReader {
 public:
  /// `name` begins error messages; it and the bytes must outlive the reader.
  ByteReader(std::span<const std::byte> bytes, const std::string& name, std::size_t at = 0) : bytes_(bytes), name_(name), at_(at) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  /// Returns the next `count` bytes. Throws InputError if the file ends before; `what` names the bytes in the message.
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    require_input(count <= left(), name_, ": the file ends at byte ", bytes_.size(), ", but ", what, " at byte ", at_, " needs ", count,
                  " bytes");
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return taken;
  }
  /// Returns the next number, little-endian.
  template <class T>
  T number(const char* what) {
    T value{};
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  /// Reads a u64 length and returns that many bytes.
  std::string_view text(const char* what) {
    const auto length = number<std::uint64_t>(what);
    return as_text(take(length, what));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t at_;
};

}  // namespace dikkat
