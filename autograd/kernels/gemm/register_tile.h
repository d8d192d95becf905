#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/kernels/gemm/tile_gemm.h"
#include "autograd/simd/simd.h"

// A tile of a product, whose sums stay in registers (gemm_tiles.cpp).
namespace dikkat::kernels::register_tile {

using detail::unrolled;
using simd::kLanes;
using simd::Vec;

// A tile has kRows rows of kVectors vectors, whose sums fill the registers: 8 x 3 or 6 x 2 on x86, or 3 x 4 of 16 bytes. On arm64, with 32
// registers of 16 bytes, 6 x 4. A multiply-add takes four cycles there, and a core starts two (Neoverse N1) to four (V1, V2, Apple) in a
// cycle: the sums must be at least 16, and these are 24. In one step of k, 24 multiply-adds take 4 vectors of B and 6 numbers of A; 8 x 3
// would take 11 loads. The 16 columns are a panel of a packed B. Products by bfmmla, which takes five cycles, have 3 x 8 sums of 2 x 2
// elements in the same tile.
constexpr int kRows = simd::kBytes == 64 ? 8 : simd::kBytes == 16 && simd::kRegisters == 16 ? 3 : 6;
constexpr int kVectors = simd::kBytes == 64 ? 3 : simd::kBytes == 16 ? 4 : 2;
constexpr index kCols = kVectors * kLanes<float>;  // columns of a tile, and of a panel of B
constexpr index kTileSize = kRows * kCols;

inline Vec<float> multiply_add(float a, Vec<float> b, Vec<float> c) { return simd::fused_multiply_add(simd::broadcast(a), b, c); }
#if defined(__AVX512BF16__)
inline Vec<float> multiply_add(std::uint32_t a, Vec<std::uint32_t> b, Vec<float> c) {
  return simd::multiply_add_words(simd::broadcast(a), b, c);
}
#endif

// The arrays below stay in registers, since all their indices are constants.
#define DIKKAT_INLINE __attribute__((always_inline))

/// Adds the products of a tile over `steps` words of k to its sums: A times B, as multiply_tile() describes them. Numbers of A are `next`
/// apart from step to step, and next_row from row to row. Calls fetch(i) for each row i of C, some steps apart: memory takes only a few
/// requests at a time, and more would stall.
template <int kUsedRows, int kUsed, class T, class Fetch>
DIKKAT_INLINE inline void add_products(index steps, const T* a, index next, index next_row, const Word<T>* b, index ldb,
                                       Vec<float> (&sums)[kUsedRows][kUsed], const Fetch& fetch) {
  constexpr index kBetween = 4;  // steps from one row of C to the next
  const auto step = [&]() DIKKAT_INLINE {
    Vec<Word<T>> bs[kUsed];
    unrolled<kUsed>([&](auto v) DIKKAT_INLINE { bs[v] = simd::load(b + v * kLanes<float>); });
    unrolled<kUsedRows>([&](auto row) DIKKAT_INLINE {
      const Word<T> word = word_at(a + row * next_row);
      unrolled<kUsed>([&](auto v) DIKKAT_INLINE { sums[row][v] = multiply_add(word, bs[v], sums[row][v]); });
    });
    a += next;
    b += ldb;
  };
  const index between = std::min<index>(kBetween, steps / kUsedRows);
  for (index row = 0; row < kUsedRows; ++row) {
    fetch(row);
    for (index k = 0; k < between; ++k) {
      step();
    }
  }
  for (index k = between * kUsedRows; k < steps; ++k) {
    step();
  }
}
#if defined(DIKKAT_BFMMLA)
/// Does the same by bfmmla, from zero: a block of k is never divided for it. The instruction adds the products of two adjacent rows of A
/// and two adjacent columns of B to four sums.
template <int kUsedRows, int kUsed, class Fetch>
DIKKAT_INLINE inline void add_products(index steps, const bf16* a, index next, index next_row, const std::uint64_t* b, index ldb,
                                       Vec<float> (&sums)[kUsedRows][kUsed], const Fetch& fetch) {
  for (index row = 0; row < kUsedRows; ++row) {
    fetch(row);
  }
  constexpr int kPairs = (kUsedRows + 1) / 2;  // pairs of rows: the last row of an odd number is multiplied twice
  float32x4_t squares[kPairs][2 * kUsed] = {};
  for (index k = 0; k < steps; ++k, a += next, b += ldb) {
    bfloat16x8_t as[kPairs];
    unrolled<kPairs>([&](auto pair) DIKKAT_INLINE {
      const std::uint64_t first = word_at(a + 2 * pair * next_row);
      const std::uint64_t second = 2 * pair + 1 < kUsedRows ? word_at(a + (2 * pair + 1) * next_row) : first;
      as[pair] = vreinterpretq_bf16_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
    });
    unrolled<2 * kUsed>([&](auto column) DIKKAT_INLINE {
      bfloat16x8_t two;
      std::memcpy(&two, b + 2 * column, sizeof two);
      unrolled<kPairs>([&](auto pair) DIKKAT_INLINE { squares[pair][column] = vbfmmlaq_f32(squares[pair][column], as[pair], two); });
    });
  }
  unrolled<kUsedRows, kUsed>([&](auto row, auto v) DIKKAT_INLINE {
    const auto left = vreinterpretq_f64_f32(squares[row / 2][2 * v]), right = vreinterpretq_f64_f32(squares[row / 2][2 * v + 1]);
    sums[row][v] = vreinterpretq_f32_f64(row % 2 == 0 ? vzip1q_f64(left, right) : vzip2q_f64(left, right));
  });
}
#endif

/// The value to which a tile adds its sums.
enum class Base { nothing, bias, previous };

/// c (kUsedRows, kUsed vectors), rows ldc apart, = base + (before + a b), for `steps` words of k. a is kUsedRows rows of A, lda words
/// apart; or, if kByColumns, rows of A transposed, where the next k is lda further. b is rows ldb apart. `before` is the sums over the k
/// before these, rows kCols apart, or null for zero.
template <class T, bool kByColumns, int kUsedRows, int kUsed>
void multiply_tile(index steps, const T* a, index lda, const Word<T>* b, index ldb, const float* before, Base base, const float* bias,
                   float* c, index ldc) {
  // C is needed at the end.
  const auto fetch = [&](index row) DIKKAT_INLINE {
    constexpr int kInLine = simd::kBytes == 16 ? 4 : 1;  // vectors
    for (int v = 0; v < kUsed; v += kInLine) {
      __builtin_prefetch(c + row * ldc + v * kLanes<float>, 1);
    }
  };
  // The sums over k stay in registers.
  const index next = kInWord<T> * (kByColumns ? lda : 1);
  const index next_row = kInWord<T> * (kByColumns ? 1 : lda);
  Vec<float> sums[kUsedRows][kUsed];
  if (before == nullptr) {
    unrolled<kUsedRows, kUsed>([&](auto row, auto v) DIKKAT_INLINE { sums[row][v] = Vec<float>{}; });
  } else {
    unrolled<kUsedRows, kUsed>([&](auto row, auto v)
                                   DIKKAT_INLINE { sums[row][v] = simd::load(before + row * kCols + v * kLanes<float>); });
  }
  add_products<kUsedRows, kUsed>(steps, a, next, next_row, b, ldb, sums, fetch);
  // Add the sums to the base.
  const auto put = [&](auto&& value) DIKKAT_INLINE {
    unrolled<kUsedRows, kUsed>([&](auto row, auto v) DIKKAT_INLINE {
      float* at = c + row * ldc + v * kLanes<float>;
      simd::store(at, value(at, v, sums[row][v]));
    });
  };
  switch (base) {
    case Base::nothing: put([](const float*, int, Vec<float> sum) DIKKAT_INLINE { return sum; }); break;
    case Base::bias:
      put([&](const float*, int v, Vec<float> sum) DIKKAT_INLINE { return simd::load(bias + v * kLanes<float>) + sum; });
      break;
    case Base::previous: put([](const float* at, int, Vec<float> sum) DIKKAT_INLINE { return simd::load(at) + sum; }); break;
  }
}
#undef DIKKAT_INLINE

template <class T>
using MultiplyTile = decltype(&multiply_tile<T, true, 1, 1>);
/// Returns multiply_tile() for each number of rows and vectors: [rows - 1][vectors - 1].
template <class T, bool kByColumns, std::size_t... kAt>
constexpr std::array<std::array<MultiplyTile<T>, kVectors>, kRows> tile_functions(std::index_sequence<kAt...>) {
  std::array<std::array<MultiplyTile<T>, kVectors>, kRows> functions{};
  ((functions[kAt / kVectors][kAt % kVectors] = multiply_tile<T, kByColumns, kAt / kVectors + 1, kAt % kVectors + 1>), ...);
  return functions;
}
template <class T, bool kByColumns>
constexpr auto kMultiply = tile_functions<T, kByColumns>(std::make_index_sequence<kRows * kVectors>());

}  // namespace dikkat::kernels::register_tile
