#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

/// A file in a zip archive, where it lies in the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// The files of a zip archive (zip64 too) that are stored as they are, in the order of its directory; `name` begins error messages. Throws
/// InputError for an archive that is cut off or damaged, and for a file that is compressed or encrypted.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
