#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace dikkat {

/// A sequential source of bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `bytes` bytes into `out` and returns how many; 0 only at the end. Throws InputError, which names the file.
  virtual std::size_t read(char* out, std::size_t bytes) = 0;
};

/// Appends up to `bytes` bytes of a source to `text`. Returns how many; 0 only at the end.
std::size_t append(ByteSource& source, std::size_t bytes, std::string& text);

/// Opens a regular file. gzip and zstd data, recognized by their first bytes, are decompressed. Throws InputError if it is not a regular
/// file or cannot be opened, and, while reading, for damaged or truncated data. Messages call the file `name`.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, const std::string& name);

}  // namespace dikkat
