#pragma once

#include <chrono>

namespace dikkat {

/// Returns the seconds that have passed since `start`, by a clock that is never set.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace dikkat
