#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Formats a time for people: 1:02:03, 4:05.
inline std::string clock_time(double seconds) {
  const auto s = static_cast<index>(std::llround(seconds));
  char text[64];
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(s / 3600), static_cast<long long>(s / 60 % 60),
                  static_cast<long long>(s % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
  }
  return text;
}

}  // namespace dikkat
