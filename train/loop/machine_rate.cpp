#include "train/loop/machine_rate.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/kernels/gemm.h"

namespace dikkat {

double gemm_rate() {
  using Clock = std::chrono::steady_clock;
  constexpr index m = 1024, n = 768, k = 768;
  constexpr double kSeconds = 0.05;
  const std::vector<float> a(m * k, 0.5F), b(k * n, 0.25F);
  std::vector<float> c(m * n);
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto product = [&] {
    const auto start = Clock::now();
    kernels::gemm<float>({.m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
    return seconds_since(start);
  };
  const auto start = Clock::now();
  product();  // threads and the library's code for this shape are made
  double best = product();
  while (seconds_since(start) < kSeconds) {
    best = std::min(best, product());
  }
  return 2.0 * m * n * k / best;
}

}  // namespace dikkat
