#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace dikkat {

/// Bytes in order, from wherever they come.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `bytes` bytes into `out`; 0 at the end alone. Throws InputError that names the file.
  virtual std::size_t read(char* out, std::size_t bytes) = 0;
};

/// A regular file. What gzip or zstd has compressed, by its first bytes, comes out as it was before. Throws InputError for what is no
/// regular file or cannot be opened, and while reading for what is damaged or cut off. `name` is what errors call it.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, const std::string& name);

// The two seams: `source` begins at the start of what is compressed.
std::unique_ptr<ByteSource> gunzipped(std::unique_ptr<ByteSource> source, const std::string& name);
std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace dikkat
