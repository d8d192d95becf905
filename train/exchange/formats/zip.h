#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

/// A file in a zip archive, as a view into the archive.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// Returns the files of a zip or zip64 archive, in the order of its directory. Throws InputError, beginning with `name`, for an archive
/// that is truncated or damaged, and for a file that is compressed or encrypted.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
