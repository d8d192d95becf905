#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// Returns a field of CSV in quotes, in which each quote is doubled (RFC 4180).
inline std::string csv_quoted(std::string_view field) {
  std::string text = "\"";
  for (const char c : field) {
    text += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text + '"';
}

}  // namespace dikkat
