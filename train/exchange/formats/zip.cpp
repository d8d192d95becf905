#include "train/exchange/formats/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "autograd/base/error.h"
#include "train/exchange/formats/weight_type.h"
#include "train/system/byte_reader.h"

namespace dikkat {
namespace {

constexpr std::uint32_t kLocalHeader = 0x0403'4B50;
constexpr std::uint32_t kDirectoryEntry = 0x0201'4B50;
constexpr std::uint32_t kDirectoryEnd = 0x0605'4B50;
constexpr std::uint32_t kZip64End = 0x0606'4B50;
constexpr std::uint32_t kZip64Locator = 0x0706'4B50;
constexpr std::size_t kDirectoryEndBytes = 22;
constexpr std::size_t kZip64LocatorBytes = 20;
constexpr std::uint32_t kInExtra = 0xFFFF'FFFF;  // the number is in the zip64 extra field

template <class T>
T field_at(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t entries;
  std::uint64_t bytes;
  std::uint64_t at;
};

/// Finds the last record of the archive. A comment of up to 65,535 bytes may follow it.
std::size_t find_end(std::span<const std::byte> bytes, const std::string& name) {
  constexpr std::size_t kLongestComment = 65'535;
  const std::size_t most = bytes.size() < kDirectoryEndBytes ? 0 : std::min(bytes.size() - kDirectoryEndBytes, kLongestComment) + 1;
  for (std::size_t comment = 0; comment < most; ++comment) {
    const std::size_t at = bytes.size() - kDirectoryEndBytes - comment;
    if (field_at<std::uint32_t>(bytes, at) == kDirectoryEnd && field_at<std::uint16_t>(bytes, at + 20) == comment) {
      return at;
    }
  }
  fail_input(name, ": it has no zip directory at its end: it is cut off");
}

Directory find_directory(std::span<const std::byte> bytes, const std::string& name) {
  const std::size_t end = find_end(bytes, name);
  if (end >= kZip64LocatorBytes && field_at<std::uint32_t>(bytes, end - kZip64LocatorBytes) == kZip64Locator) {
    const auto at = field_at<std::uint64_t>(bytes, end - kZip64LocatorBytes + 8);
    require_input(at < end, name, ": its zip64 directory would begin at byte ", at, " of ", bytes.size(), ", expected a byte before ", end);
    ByteReader reader(bytes, name, static_cast<std::size_t>(at));
    const auto record = reader.take(56, "the zip64 directory");
    require_input(field_at<std::uint32_t>(record, 0) == kZip64End, name, ": there is no zip64 directory at byte ", at);
    return {field_at<std::uint64_t>(record, 32), field_at<std::uint64_t>(record, 40), field_at<std::uint64_t>(record, 48)};
  }
  return {field_at<std::uint16_t>(bytes, end + 10), field_at<std::uint32_t>(bytes, end + 12), field_at<std::uint32_t>(bytes, end + 16)};
}

/// Reads the numbers that did not fit into a directory entry from its extra field. Returns false if some are missing.
bool take_zip64(std::span<const std::byte> extra, std::span<std::uint64_t* const> wanted) {
  while (extra.size() >= 4) {
    const auto id = field_at<std::uint16_t>(extra, 0);
    const std::size_t length = field_at<std::uint16_t>(extra, 2);
    if (length > extra.size() - 4) {
      return false;
    }
    if (id == 1) {
      const auto field = extra.subspan(4, length);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (field.size() < (i + 1) * 8) {
          return false;
        }
        *wanted[i] = field_at<std::uint64_t>(field, i * 8);
      }
      return true;
    }
    extra = extra.subspan(4 + length);
  }
  return false;
}

/// Reads the next entry of the directory; returns nullopt for a folder.
std::optional<ZipEntry> read_entry(ByteReader& directory, std::span<const std::byte> bytes, const std::string& name) {
  // Read the entry in the directory.
  const auto fixed = directory.take(46, "an entry of the zip directory");
  require_input(field_at<std::uint32_t>(fixed, 0) == kDirectoryEntry, name, ": the zip directory has no entry at byte ",
                directory.at() - fixed.size());
  const auto flags = field_at<std::uint16_t>(fixed, 8);
  const auto method = field_at<std::uint16_t>(fixed, 10);
  std::uint64_t stored = field_at<std::uint32_t>(fixed, 20);
  std::uint64_t size = field_at<std::uint32_t>(fixed, 24);
  std::uint64_t at = field_at<std::uint32_t>(fixed, 42);
  const std::string_view entry_name = as_text(directory.take(field_at<std::uint16_t>(fixed, 28), "a name in the zip directory"));
  const auto extra = directory.take(field_at<std::uint16_t>(fixed, 30), "an extra field in the zip directory");
  directory.take(field_at<std::uint16_t>(fixed, 32), "a comment in the zip directory");
  std::vector<std::uint64_t*> wanted;
  for (std::uint64_t* number : {&size, &stored, &at}) {
    if (*number == kInExtra) {
      wanted.push_back(number);
    }
  }
  require_input(wanted.empty() || take_zip64(extra, wanted), name, ": the zip entry ", in_quotes(entry_name), " lacks its zip64 numbers");
  require_input((flags & 1U) == 0, name, ": the zip entry ", in_quotes(entry_name), " is encrypted, expected a file that torch.save wrote");
  require_input(method == 0 && stored == size, name, ": the zip entry ", in_quotes(entry_name), " is compressed (method ", method,
                "), expected uncompressed files, as torch.save writes them");
  if (entry_name.ends_with('/')) {
    return std::nullopt;
  }

  // Find the bytes after the file's own header.
  require_input(at <= bytes.size(), name, ": the zip entry ", in_quotes(entry_name), " would begin at byte ", at,
                ", but the archive has only ", bytes.size());
  ByteReader local(bytes, name, static_cast<std::size_t>(at));
  const auto header = local.take(30, "the header of a zip entry");
  require_input(field_at<std::uint32_t>(header, 0) == kLocalHeader, name, ": the zip entry ", in_quotes(entry_name),
                " has no header at byte ", at);
  const std::string_view local_name = as_text(local.take(field_at<std::uint16_t>(header, 26), "the name of a zip entry"));
  require_input(local_name == entry_name, name, ": the zip entry ", in_quotes(entry_name), " has the name ", in_quotes(local_name),
                " at byte ", at);
  local.take(field_at<std::uint16_t>(header, 28), "the extra field of a zip entry");
  return ZipEntry{.name = entry_name, .bytes = local.take(size, "a zip entry")};
}

}  // namespace

std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> bytes, const std::string& name) {
  const Directory directory = find_directory(bytes, name);
  require_input(directory.at <= bytes.size() && directory.bytes <= bytes.size() - directory.at, name, ": its zip directory of ",
                directory.bytes, " bytes would begin at byte ", directory.at, ", but the file has only ", bytes.size());
  const auto listed = bytes.first(static_cast<std::size_t>(directory.at + directory.bytes));
  ByteReader reader(listed, name, static_cast<std::size_t>(directory.at));
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (auto entry = read_entry(reader, bytes, name)) {
      entries.push_back(*entry);
    }
  }
  return entries;
}

}  // namespace dikkat
