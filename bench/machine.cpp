#include "bench/machine.h"

#include <cstring>

#if defined(__AMX_BF16__)
#include <immintrin.h>
#endif

#include "autograd/base/choose_instruction_set.h"
#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "autograd/base/simd.h"
#include "bench/measure.h"

namespace dikkat::bench {
namespace {

constexpr int kRuns = 7;
constexpr int kPeakRuns = 40;  // of some 3 ms each: other programs may keep the machine busy for longer than a few of them

using Register = simd::Vec<float>;
// Independent accumulators: a core that starts two multiply-adds per cycle, with a latency of up to six cycles, needs twelve.
constexpr int kChains = 14;
constexpr index kRounds = 1'000'000;

/// Input that the compiler cannot know, and output that it must not remove.
volatile float factor = 0.999F, term = 0.001F;
thread_local volatile float sink = 0;

/// The rate of chains of `step`, each of which is `flops` operations, on all threads.
template <class F>
double rate_of(double flops, F&& step) {
  const auto run = [&] {
    Register chains[kChains];
    for (Register& chain : chains) {
      chain = simd::broadcast(float{term});
    }
    for (index round = 0; round < kRounds; ++round) {
      for (Register& chain : chains) {
        chain = step(chain);
      }
    }
    Register total{};
    for (const Register& chain : chains) {
      total += chain;
    }
    sink = total[0] + total[1];
  };
  const index threads = thread_count();
  const Times times = measure(1, kPeakRuns, [&] { parallel_for(threads, [&](index) { run(); }); });
  return flops * kRounds * kChains * static_cast<double>(threads) / times.min * 1e-6;
}

constexpr double kLanes = simd::kLanes<float>;

#if defined(__AMX_BF16__)
/// The rate of products of tiles in AMX's registers, on all threads.
double tile_rate() {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const config;
  constexpr index kTileRounds = 50'000;
  constexpr double kProducts = 4, kFlops = 2.0 * 16 * 16 * 32;  // products in a round, which use different sums, and operations of one
  const index threads = thread_count();
  const Times times = measure(1, kPeakRuns, [&] {
    parallel_for(threads, [&](index) {
      __asm__ volatile("" : : "r"(&config) : "memory");  // gcc's intrinsic does not say that it reads all of it
      _tile_loadconfig(&config);
      _tile_zero(4);
      _tile_zero(5);
      _tile_zero(6);
      _tile_zero(7);
      for (index round = 0; round < kTileRounds; ++round) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      _tile_release();
    });
  });
  return kFlops * kProducts * kTileRounds * static_cast<double>(threads) / times.min * 1e-6;
}
#endif

}  // namespace

double peak_flops() {
  const Register a = simd::broadcast(float{factor}), b = simd::broadcast(float{term});
  return rate_of(2 * kLanes, [=](Register chain) { return simd::fused_multiply_add(chain, a, b); });
}

double bf16_peak_flops() {
#if defined(__AMX_BF16__)
  if (uses_amx()) {
    return tile_rate();
  }
#endif
  const simd::Vec<float> x = simd::broadcast(float{factor});
  const auto a = simd::bf16_words(x, x);
  return rate_of(4 * kLanes, [=](Register chain) { return simd::multiply_add_words(a, a, chain); });
}

double copy_bandwidth() {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  const Pages from(kBytes, "copy_bandwidth"), to(kBytes, "copy_bandwidth");
  std::memset(from.data(), 1, kBytes);
  // One block per thread: the C library bypasses caches only for large copies.
  const auto bytes = static_cast<index>(kBytes);
  const Times times = measure(1, kRuns, [&] {
    parallel_blocks(bytes, ceil_div(bytes, thread_count()), [&](index begin, index end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  sink = static_cast<float>(to.data()[kBytes - 1]);
  return 2.0 * static_cast<double>(kBytes) / times.min * 1e-6;
}

void read_all(const float* values, index count) {
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

}  // namespace dikkat::bench
