#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// Returns a name from a file for a message: in quotation marks, shortened, and without control characters.
inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  std::string text = "\"";
  for (const char c : name.substr(0, kLongest)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return text + (name.size() > kLongest ? "...\"" : "\"");
}

}  // namespace dikkat
