#include "autograd/kernels/peak.h"

#include <cstdint>

// cmake gives this source the compiler's options for AMX (clang 14 spells the second name).
#if (defined(__AMX_BF16__) || defined(__AMXBF16__)) && defined(__AVX512BF16__)
#define DIKKAT_HAS_TILES
#include <immintrin.h>
#endif

#include "autograd/base/parallel.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using Register = simd::Vec<float>;
// Independent accumulators. A core that starts two multiply-adds per cycle, with a latency of up to six cycles, needs twelve. An arm64 core
// that starts four, with a latency of up to five, needs twenty.
constexpr int kChains = simd::kBytes == 16 && simd::kRegisters == 32 ? 22 : 14;
constexpr double kLanes = simd::kLanes<float>;

/// Input that the compiler cannot know, and output that it must not remove.
volatile float factor = 0.999F, term = 0.001F;
thread_local volatile float sink = 0;

/// Runs chains of `step`, which makes `flops` operations, on all threads.
template <class F>
double run_chains(index rounds, double flops, F&& step) {
  const index threads = thread_count();
  parallel_for(threads, [&](index) {
    Register chains[kChains];
    for (Register& chain : chains) {
      chain = simd::broadcast(float{term});
    }
    for (index round = 0; round < rounds; ++round) {
      for (Register& chain : chains) {
        chain = step(chain);
      }
    }
    Register total{};
    for (const Register& chain : chains) {
      total += chain;
    }
    sink = total[0] + total[1];
  });
  return flops * kChains * static_cast<double>(rounds) * static_cast<double>(threads);
}

#if defined(DIKKAT_HAS_TILES)
/// Runs products of tiles in AMX's registers on all threads.
double run_tiles(index rounds) {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const config;
  constexpr double kProducts = 4, kFlops = 2.0 * 16 * 16 * 32;  // products in a round, which use different sums, and operations of one
  const index threads = thread_count();
  parallel_for(threads, [&](index) {
    __asm__ volatile("" : : "r"(&config) : "memory");  // gcc's intrinsic does not declare that it reads all of it
    _tile_loadconfig(&config);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (index round = 0; round < rounds; ++round) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
  });
  return kFlops * kProducts * static_cast<double>(rounds) * static_cast<double>(threads);
}
#endif

}  // namespace

double run_multiply_adds(index rounds) {
  const Register a = simd::broadcast(float{factor}), b = simd::broadcast(float{term});
  return run_chains(rounds, 2 * kLanes, [=](Register chain) { return simd::fused_multiply_add(chain, a, b); });
}

double run_bf16_multiply_adds(index rounds) {
#if defined(DIKKAT_HAS_TILES)
  if (has_amx_products()) {
    return run_tiles(rounds);
  }
#endif
#if defined(DIKKAT_BFMMLA)
  const auto numbers = vdupq_n_bf16(vcvth_bf16_f32(factor));
  return run_chains(rounds, 8 * kLanes, [=](Register chain) -> Register { return vbfmmlaq_f32(chain, numbers, numbers); });
#else
#if defined(__AVX512BF16__)
  if (!widens_bf16_products()) {
    const simd::Vec<float> x = simd::broadcast(float{factor});
    const auto a = simd::bf16_words(x, x);
    return run_chains(rounds, 4 * kLanes, [=](Register chain) { return simd::multiply_add_words(a, a, chain); });
  }
#endif
  return run_multiply_adds(rounds);
#endif
}

}  // namespace dikkat::kernels
