#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dikkat::formats_test {

using ZippedFiles = std::vector<std::pair<std::string_view, std::string_view>>;  // name, contents

template <class T>
void append_number(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// A zip archive of these files, not compressed, without checksums, which nobody here reads. With `zip64`, sizes and places are in 64 bits.
inline std::string stored_zip(const ZippedFiles& files, bool zip64 = false) {
  std::string text;
  std::string directory;
  for (const auto& file : files) {
    const std::string_view name = file.first;
    const std::string_view contents = file.second;
    const std::uint64_t at = text.size();
    const auto size = static_cast<std::uint32_t>(contents.size());
    const auto fixed = [&](std::string& out, std::uint32_t bytes) {
      append_number(out, std::uint16_t{45});  // version
      append_number(out, std::uint16_t{0});   // flags
      append_number(out, std::uint16_t{0});   // method
      append_number(out, std::uint32_t{0});   // time
      append_number(out, std::uint32_t{0});   // checksum
      append_number(out, bytes);              // compressed
      append_number(out, bytes);              // not compressed
      append_number(out, static_cast<std::uint16_t>(name.size()));
    };
    append_number(text, std::uint32_t{0x0403'4B50});
    fixed(text, size);
    append_number(text, std::uint16_t{0});  // extra
    text.append(name).append(contents);
    append_number(directory, std::uint32_t{0x0201'4B50});
    append_number(directory, std::uint16_t{45});
    fixed(directory, zip64 ? 0xFFFF'FFFF : size);
    append_number(directory, static_cast<std::uint16_t>(zip64 ? 28 : 0));  // extra
    append_number(directory, std::uint16_t{0});                            // comment
    append_number(directory, std::uint16_t{0});                            // disk
    append_number(directory, std::uint16_t{0});                            // attributes
    append_number(directory, std::uint32_t{0});
    append_number(directory, zip64 ? 0xFFFF'FFFF : static_cast<std::uint32_t>(at));
    directory += name;
    if (zip64) {
      append_number(directory, std::uint16_t{1});
      append_number(directory, std::uint16_t{24});
      append_number(directory, std::uint64_t{size});
      append_number(directory, std::uint64_t{size});
      append_number(directory, at);
    }
  }
  const std::uint64_t directory_at = text.size();
  text += directory;
  if (zip64) {
    const std::uint64_t record_at = text.size();
    append_number(text, std::uint32_t{0x0606'4B50});
    append_number(text, std::uint64_t{44});
    append_number(text, std::uint32_t{45 | 45 << 16});
    append_number(text, std::uint64_t{0});  // disks
    append_number(text, std::uint64_t{files.size()});
    append_number(text, std::uint64_t{files.size()});
    append_number(text, std::uint64_t{directory.size()});
    append_number(text, directory_at);
    append_number(text, std::uint32_t{0x0706'4B50});
    append_number(text, std::uint32_t{0});
    append_number(text, record_at);
    append_number(text, std::uint32_t{1});
  }
  append_number(text, std::uint32_t{0x0605'4B50});
  append_number(text, std::uint32_t{0});
  append_number(text, static_cast<std::uint16_t>(zip64 ? 0xFFFF : files.size()));
  append_number(text, static_cast<std::uint16_t>(zip64 ? 0xFFFF : files.size()));
  append_number(text, zip64 ? 0xFFFF'FFFF : static_cast<std::uint32_t>(directory.size()));
  append_number(text, zip64 ? 0xFFFF'FFFF : static_cast<std::uint32_t>(directory_at));
  append_number(text, std::uint16_t{0});
  return text;
}

}  // namespace dikkat::formats_test
