#pragma once

#include <concepts>
#include <cstdio>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Formats 1234567 as 1,234,567.
inline std::string grouped_digits(index number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<index>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

/// Formats a number of bytes as 47 KB, 12.3 MB, 1.50 GB or 12.82 TB. The units are powers of 1000.
inline std::string short_bytes(double bytes) {
  const struct {
    double unit;
    int digits;
    const char* name;
  } scales[] = {{1e12, 2, "TB"}, {1e9, 2, "GB"}, {1e6, 1, "MB"}, {1e3, 0, "KB"}};
  const auto* scale = scales;
  while (bytes < scale->unit && scale->unit > 1e3) {
    ++scale;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", scale->digits, bytes / scale->unit, scale->name);
  return text;
}
template <std::integral N>
std::string short_bytes(N bytes) {
  return short_bytes(static_cast<double>(bytes));
}

}  // namespace dikkat
