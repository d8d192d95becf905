#include "train/loop/machine_rate.h"

#include <algorithm>
#include <chrono>

#include "autograd/base/pages.h"
#include "autograd/kernels/gemm.h"

namespace dikkat {

double gemm_rate() {
  using Clock = std::chrono::steady_clock;
  constexpr index m = 1024, n = 768, k = 768;
  constexpr double kSeconds = 0.05;
  // Pages, since they go back to the system at once: the heap would keep them for the whole run.
  const Pages memory((m * k + k * n + m * n) * sizeof(float), "operands to measure the machine with");
  auto* const a = reinterpret_cast<float*>(memory.data());
  float* const b = a + m * k;
  float* const c = b + k * n;
  std::fill_n(a, m * k, 0.5F);
  std::fill_n(b, k * n, 0.25F);
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto product = [&] {
    const auto start = Clock::now();
    kernels::gemm<float>({.m = m, .n = n, .k = k, .a = a, .lda = k, .b = b, .ldb = n, .c = c, .ldc = n});
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
