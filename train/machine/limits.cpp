#include "train/machine/limits.h"

#include <algorithm>
#include <chrono>
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

constexpr index kNumbersOfLine = 64 / sizeof(float);  // of a cache line

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

void read_all(const float* values, index count, ReadingOrder order) {
  using Register = simd::Vec<float>;
  constexpr index kRegisters = 8;
  constexpr index kLanes = simd::kLanes<float>, kStep = kRegisters * kLanes;
  constexpr int kIntoL2 = 2;
  parallel_blocks(count, ceil_div(count, thread_count()), [&](index begin, index end) {
    Register sums[kRegisters]{};
    const auto add_step = [&](const float* from) {
      for (index i = 0; i < kRegisters; ++i) {
        Register some;
        std::memcpy(&some, from + i * kLanes, sizeof some);
        sums[i] += some;
      }
    };
    const auto add_step_ahead = [&](const float* from) {
      for (index i = 0; i < kStep; i += kNumbersOfLine) {
        simd::prefetch<kIntoL2>(from + i, order.ahead);
      }
      add_step(from);
    };
    const index part = (end - begin) / order.streams / kStep * kStep;
    const auto add_parts = [&](auto&& add) {
      for (index at = 0; at < part; at += kStep) {
        for (index stream = 0; stream < order.streams; ++stream) {
          add(values + begin + stream * part + at);
        }
      }
    };
    if (order.ahead > 0) {
      add_parts(add_step_ahead);
    } else {
      add_parts(add_step);
    }
    for (index at = begin + order.streams * part; at + kStep <= end; at += kStep) {
      add_step(values + at);
    }
    Register total{};
    for (const Register& some : sums) {
      total += some;
    }
    sink = total[0];
  });
}

double read_bandwidth(const Pages& memory, double seconds) {
  constexpr index kRow = 1024;  // numbers ahead: the next row of a matrix, or 4 kB of packed ones
  constexpr ReadingOrder kOrders[] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {1, kRow}, {2, kRow}, {4, kRow}};
  const auto* const numbers = reinterpret_cast<const float*>(memory.data());
  const auto count = static_cast<index>(memory.size() / sizeof(float));
  double best = std::numeric_limits<double>::infinity();
  const auto start = std::chrono::steady_clock::now();
  do {
    for (const ReadingOrder& order : kOrders) {
      best = std::min(best, best_of(1, [&] { read_all(numbers, count, order); }));
    }
  } while (seconds_since(start) < seconds);
  return static_cast<double>(count) * sizeof(float) / best;
}

}  // namespace dikkat
