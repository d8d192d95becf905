#include "train/machine/limits.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "autograd/kernels/peak.h"
#include "autograd/simd/simd.h"

namespace dikkat {
namespace {

/// Receives results, so that the compiler cannot remove the work.
thread_local volatile float sink = 0;

/// Returns the shortest of `count` times of f, in seconds, after one that is not timed.
template <class F>
double best_of(int count, F&& f) {
  f();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

}  // namespace

double peak_flops(DType operands) {
  constexpr int kRuns = 40;  // runs of some milliseconds: other programs may disturb several of them
  constexpr index kRounds = 200'000, kTileRounds = 50'000;
  double flops = 0;
  const double seconds = best_of(
      kRuns, [&] { flops = operands == DType::bf16 ? kernels::run_bf16_multiply_adds(kTileRounds) : kernels::run_multiply_adds(kRounds); });
  return flops / seconds;
}

double copy_bandwidth() {
  constexpr int kRuns = 7;
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  const Pages from(kBytes, "copy_bandwidth"), to(kBytes, "copy_bandwidth");
  std::memset(from.data(), 1, kBytes);
  // One block per thread: the C library bypasses caches only for large copies.
  const auto bytes = static_cast<index>(kBytes);
  const double seconds = best_of(kRuns, [&] {
    parallel_blocks(bytes, ceil_div(bytes, thread_count()), [&](index begin, index end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  sink = static_cast<float>(to.data()[kBytes - 1]);
  return 2.0 * static_cast<double>(kBytes) / seconds;
}

void read_all(const float* values, index count) {
  using Register = simd::Vec<float>;
  constexpr index kRegisters = 8;
  constexpr index kLanes = simd::kLanes<float>;
  parallel_blocks(count, ceil_div(count, thread_count()), [&](index begin, index end) {
    Register sums[kRegisters]{};
    for (index at = begin; at + kRegisters * kLanes <= end; at += kRegisters * kLanes) {
      for (index i = 0; i < kRegisters; ++i) {
        Register some;
        std::memcpy(&some, values + at + i * kLanes, sizeof some);
        sums[i] += some;
      }
    }
    Register total{};
    for (const Register& some : sums) {
      total += some;
    }
    sink = total[0];
  });
}

}  // namespace dikkat
