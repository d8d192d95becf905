#include "train/text/json_line.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat {
namespace {

/// Returns the column of a byte, both counted from 1. Continuation bytes of UTF-8 do not count.
std::size_t column_of(std::string_view line, std::size_t byte) {
  const std::string_view before = line.substr(0, byte - 1);
  return 1 +
         static_cast<std::size_t>(std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

template <class Json>
Json parse_json_line(std::string_view line) {
  try {
    return parse_json<Json>(line);
  } catch (const JsonError& error) {
    if (error.byte == 0) {
      throw;
    }
    throw BadJson(concat("column ", column_of(line, error.byte), ": not valid JSON: ", error.problem));
  }
}
template nlohmann::json parse_json_line(std::string_view);
template nlohmann::ordered_json parse_json_line(std::string_view);

}  // namespace dikkat
