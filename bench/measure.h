#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace dikkat::bench {

struct Times {
  double median = 0, min = 0, max = 0;  // ms
};

/// Runs f `warmup` times untimed, then `count` times timed.
template <class F>
Times measure(int warmup, int count, F&& f) {
  for (int i = 0; i < warmup; ++i) {
    f();
  }
  std::vector<double> ms;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(ms.begin(), ms.end());
  return {.median = ms[ms.size() / 2], .min = ms.front(), .max = ms.back()};
}

}  // namespace dikkat::bench
