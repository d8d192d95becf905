#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "autograd/base/index.h"
#include "train/system/faults.h"

namespace dikkat {

/// Receives the bytes of a file, from the first to the last.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Takes the next bytes. Throws Error if they cannot be written, or differ from the bytes that were written before.
  virtual void put(std::span<const std::byte> bytes) = 0;
};

/// Atomically replaces the file at `path` with one of exactly `bytes` bytes, which `produce` puts into the sink. Writes the file under
/// another name, syncs it, reads it back, and renames it. On failure throws Error, whose message begins with the path, and leaves the file
/// at `path` unchanged.
///
/// `produce` runs twice, to write the bytes and to compare them with those that are read back, so that no copy is kept in memory. It must
/// put the same bytes each time. `faults` is for tests, and may be null.
void write_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults = nullptr);

/// Writes a new file in the same way. Throws InputError and changes nothing if the name exists when the file is complete.
void write_new_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce);

}  // namespace dikkat
