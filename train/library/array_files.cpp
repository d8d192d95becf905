#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/library/array.h"
#include "train/system/mapped_file.h"

namespace dikkat {
namespace {

// NumPy's format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. A file begins with a magic string, two bytes of
// the version, the length of the header, and the header, which is the text of a Python dictionary:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

constexpr std::string_view kNumpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::string_view type;
  bool fortran_order = false;
  Shape shape;
  std::size_t data_begin = 0;
};

/// Returns the text after 'KEY': in the header, without blanks before it; empty if there is none.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(concat('\'', key, "':"));
  const std::size_t begin = at == std::string_view::npos ? at : header.find_first_not_of(' ', at + key.size() + 3);
  return begin == std::string_view::npos ? "" : header.substr(begin);
}

/// Returns the extents of "(3, 4)"; nullopt for any other text.
std::optional<std::vector<index>> extents_of(std::string_view text) {
  std::vector<index> extents;
  index elements = 1;
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) {
    return {};
  }
  for (text = text.substr(1, end - 1); !text.empty();) {
    index extent = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    constexpr index kMost = index{1} << 40;
    elements = extent <= kMost / elements ? elements * std::max<index>(extent, 1) : kMost + 1;
    if (error != std::errc() || extent < 0 || elements > kMost || extents.size() == Shape::kMaxRank) {
      return {};
    }
    extents.push_back(extent);
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return extents;
}

NpyHeader npy_header(std::string_view bytes, const std::string& name) {
  require_input(bytes.starts_with(kNumpyMagic) && bytes.size() >= 12, name, " is not a NumPy file, expected one that numpy.save wrote");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
  const std::size_t begin = byte(6) == 1 ? 10 : 12;
  const std::size_t length = byte(8) | byte(9) << 8U | (byte(6) == 1 ? 0 : byte(10) << 16U | byte(11) << 24U);
  require_input(length <= bytes.size() - begin, name, " is truncated in its header");
  const std::string_view text = bytes.substr(begin, length);
  const std::string_view type = value_of(text, "descr");
  const auto extents = extents_of(value_of(text, "shape"));
  require_input(type.size() > 4 && type[0] == '\'' && type[4] == '\'' && extents, name,
                " has a header that cannot be read, expected 'descr', 'fortran_order' and 'shape'");
  return {.type = type.substr(1, 3),
          .fortran_order = value_of(text, "fortran_order").starts_with("True"),
          .shape = Shape(*extents),
          .data_begin = begin + length};
}

template <class Stored, class T>
Array npy_array(std::string_view bytes, const NpyHeader& header, const std::string& name) {
  const auto count = static_cast<std::size_t>(header.shape.size());
  require_input(bytes.size() - header.data_begin == count * sizeof(Stored), name, " has ", bytes.size() - header.data_begin,
                " bytes of numbers, expected ", count * sizeof(Stored), " for the shape ", header.shape);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored value{};
    std::memcpy(&value, bytes.data() + header.data_begin + i * sizeof(Stored), sizeof(Stored));
    if constexpr (!std::is_same_v<Stored, T>) {
      require_input(std::in_range<T>(value), name, " has the number ", value, ", expected integers of 32 bits");
    }
    values[i] = static_cast<T>(value);
  }
  return {header.shape.rank() == 0 ? Shape{1} : header.shape, std::move(values)};
}

Array npy_array(std::string_view bytes, const NpyHeader& header, const std::string& name) {
  using Int = std::int32_t;
  const std::string_view type = header.type;
  return type == "<f4"                    ? npy_array<float, float>(bytes, header, name)
         : type == "<f8"                  ? npy_array<double, double>(bytes, header, name)
         : type == "|b1" || type == "|u1" ? npy_array<std::uint8_t, Int>(bytes, header, name)
         : type == "|i1"                  ? npy_array<std::int8_t, Int>(bytes, header, name)
         : type == "<u2"                  ? npy_array<std::uint16_t, Int>(bytes, header, name)
         : type == "<i2"                  ? npy_array<std::int16_t, Int>(bytes, header, name)
         : type == "<u4"                  ? npy_array<std::uint32_t, Int>(bytes, header, name)
         : type == "<i4"                  ? npy_array<std::int32_t, Int>(bytes, header, name)
         : type == "<u8"                  ? npy_array<std::uint64_t, Int>(bytes, header, name)
         : type == "<i8"
             ? npy_array<std::int64_t, Int>(bytes, header, name)
             : (fail_input(name, " has elements of type ", type, ", expected float32, float64, integers or truth values, little-endian"),
                npy_array<float, float>(bytes, header, name));
}

// Tables of numbers.

constexpr std::string_view kBlanks = " \t\r";

/// Takes the number at the beginning of a line, with blanks and one separator after it; nullopt if there is none.
std::optional<float> take_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  float value = 0;
  const bool has_plus = line.starts_with('+');
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + (has_plus ? 1 : 0), end, value);
  if (error != std::errc()) {
    return {};
  }
  line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
  const std::size_t next = std::min(line.find_first_not_of(kBlanks), line.size());
  const bool is_separated = next < line.size() && (line[next] == ',' || line[next] == ';');
  if (!is_separated && next == 0 && !line.empty()) {
    return {};  // the number is not followed by a separator
  }
  line.remove_prefix(next + (is_separated ? 1 : 0));
  return value;
}

}  // namespace

Array read_npy(const std::filesystem::path& path) {
  const MappedFile file(path.string());
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const NpyHeader header = npy_header(bytes, path.string());
  require_input(!header.fortran_order, path.string(), " is in Fortran's order, expected C's: save numpy.ascontiguousarray(x)");
  return npy_array(bytes, header, path.string());
}

Array read_csv(const std::filesystem::path& path) {
  const MappedFile file(path.string());
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  std::vector<float> values;
  index columns = 0, rows = 0;
  for (index number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) {
      continue;
    }
    index count = 0;
    for (; !line.empty(); ++count) {
      const auto value = take_number(line);
      if (!value && rows == 0 && count == 0 && number == 1) {
        break;  // a heading
      }
      require_input(value.has_value(), path.string(), ", line ", number, ": field ", count + 1, " is not a number, expected numbers only");
      values.push_back(*value);
    }
    if (count == 0) {
      continue;
    }
    columns = rows == 0 ? count : columns;
    require_input(count == columns, path.string(), ", line ", number, ": ", count, " numbers, expected ", columns,
                  " as in the lines before");
    ++rows;
  }
  return {Shape{rows, columns}, std::move(values)};
}

}  // namespace dikkat
