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

/// The bytes as characters.
inline std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Reads a file in memory from one place on, and refuses to read past its end.
class ByteReader {
 public:
  /// `name` begins error messages; it and the bytes must outlive the reader.
  ByteReader(std::span<const std::byte> bytes, const std::string& name, std::size_t at = 0) : bytes_(bytes), name_(name), at_(at) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  /// The next `count` bytes. Throws InputError if the file ends before; `what` says what they are.
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    require_input(count <= left(), name_, ": the file ends at byte ", bytes_.size(), ", and ", what, " at byte ", at_, " is to have ",
                  count, " bytes");
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return taken;
  }
  /// The next number, little-endian.
  template <class T>
  T number(const char* what) {
    T value{};
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  /// A u64 length and that many bytes.
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
