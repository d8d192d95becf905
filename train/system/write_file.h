#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "autograd/base/index.h"
#include "train/system/faults.h"

namespace dikkat {

/// Takes the bytes of a file, from the first to the last.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// The next bytes. Throws Error if they cannot be written, or are not those that were written before.
  virtual void put(std::span<const std::byte> bytes) = 0;
};

/// Atomically replaces the file at `path` by one of exactly `bytes` bytes, which `produce` puts into the sink. It is written under another
/// name, synced, read back, and renamed. `produce` runs twice, once to write and once to compare what is read back with what is in memory,
/// so it must put the same bytes each time; no copy of the file is kept in memory. On failure the file at `path` is unchanged, and Error is
/// thrown, whose message begins with the path. `faults` (may be null) are those of a test.
void write_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce, Faults* faults = nullptr);

/// Does the same for a new file. Throws InputError if something has this name when the file is complete, and changes nothing then.
void write_new_file(const std::filesystem::path& path, index bytes, const std::function<void(ByteSink&)>& produce);

}  // namespace dikkat
