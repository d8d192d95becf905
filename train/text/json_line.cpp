#include "train/text/json_line.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Returns the column of a byte, both counted from 1. Continuation bytes of UTF-8 do not count.
std::size_t column_of(std::string_view line, std::size_t byte) {
  const std::string_view before = line.substr(0, byte - 1);
  return 1 +
         static_cast<std::size_t>(std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void replace(std::string& text, std::string_view old, std::string_view now) {
  if (const std::size_t at = text.find(old); at != std::string::npos) {
    text.replace(at, old.size(), now);
  }
}

/// Returns the problem in the library's message "... syntax error while parsing value - WHAT; last read: 'TEXT'; expected Y", without the
/// text, which may be long.
std::string problem_of(const json::parse_error& error) {
  std::string what = error.what();
  constexpr std::string_view kBefore = " - ", kText = "; last read: '", kExpected = "'; expected ";
  what.erase(0, std::min(what.find(kBefore), what.size() - kBefore.size()) + kBefore.size());
  if (const std::size_t text = what.find(kText); text != std::string::npos) {
    const std::size_t expected = what.rfind(kExpected);
    what.erase(text, expected == std::string::npos || expected < text ? std::string::npos : expected + 1 - text);
  }
  replace(what, "end of input", "end of the line");
  return what;
}

}  // namespace

json parse_json_line(std::string_view line) {
  if (line.empty()) {  // the library's message differs between its releases
    throw BadJson("column 1: not valid JSON: unexpected end of the line; expected '[', '{', or a literal");
  }
  try {
    return json::parse(line);
  } catch (const json::parse_error& error) {
    const std::size_t byte = std::clamp<std::size_t>(error.byte, 1, line.size() + 1);
    throw BadJson(concat("column ", column_of(line, byte), ": not valid JSON: ", problem_of(error)));
  } catch (const json::out_of_range&) {
    fail_input("has a number that is too large for an f64, whose limit is 1.8e308");
  }
}

std::string short_text(const json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kMost) {
    return text;
  }
  text.resize(static_cast<std::size_t>(utf8::snap(text, kMost)));
  return text + " ...";
}

}  // namespace dikkat
