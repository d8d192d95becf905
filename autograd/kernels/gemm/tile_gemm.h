#pragma once

#include <type_traits>
#include <utility>

#include "autograd/kernels/gemm/rows_ahead.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

/// C (m, n) = A (m, k) * B (k, n), plus the previous C if `add`, for tiles that are in cache. n is a multiple of simd::kLanes.
/// A may have any strides (its elements are broadcast); rows of B and C are contiguous, ldb and ldc apart.
/// Each element is summed over k in order, whatever the size of the tile.
template <class T>
struct TileGemm {
  index m = 0, n = 0, k = 0;
  const T* a = nullptr;
  index a_row = 0, a_col = 1;
  const T* b = nullptr;
  index ldb = 0;
  T* c = nullptr;
  index ldc = 0;
  bool add = false;
  const T* row_factors = nullptr;  // (m): with `add`, the previous C is multiplied by these first; null: all 1
  RowsAhead* ahead = nullptr;      // what will be read after this product, or null
};

namespace detail {

// gcc keeps an array in registers only if all indices are constants and everything is inlined into one function.
#define DIKKAT_INLINE __attribute__((always_inline))

/// Calls f(0), f(1) ... with constants.
template <int kCount, class F>
DIKKAT_INLINE inline void unrolled(F&& f) {
  const auto each = [&]<int... at>(std::integer_sequence<int, at...>) DIKKAT_INLINE { (f(std::integral_constant<int, at>{}), ...); };
  each(std::make_integer_sequence<int, kCount>{});
}
/// Calls f(0, 0), f(0, 1) ...
template <int kRows, int kCols, class F>
DIKKAT_INLINE inline void unrolled(F&& f) {
  unrolled<kRows * kCols>([&](auto at)
                              DIKKAT_INLINE { f(std::integral_constant<int, at / kCols>{}, std::integral_constant<int, at % kCols>{}); });
}

/// Computes a strip with kRows x kVectors accumulators that stay in registers.
template <class T, int kRows, int kVectors>
inline void tile_strip(const TileGemm<T>& p, index row, index col) noexcept {
  constexpr index kLanes = simd::kLanes<T>;
  const index a_row = p.a_row, a_col = p.a_col, ldb = p.ldb, ldc = p.ldc;
  const T* a = p.a + row * a_row;
  const T* b = p.b + col;
  T* c = p.c + row * ldc + col;
  simd::Vec<T> sums[kRows][kVectors];
  unrolled<kRows, kVectors>([&](auto r, auto v) DIKKAT_INLINE { sums[r][v] = simd::Vec<T>{}; });
  if (p.add) {
    unrolled<kRows, kVectors>([&](auto r, auto v) DIKKAT_INLINE { sums[r][v] = simd::load(c + r * ldc + v * kLanes); });
    if (p.row_factors != nullptr) {
      unrolled<kRows, kVectors>([&](auto r, auto v) DIKKAT_INLINE { sums[r][v] *= p.row_factors[row + r]; });
    }
  }
  for (index i = 0; i < p.k; ++i) {
    simd::Vec<T> bs[kVectors];
    unrolled<kVectors>([&](auto v) DIKKAT_INLINE { bs[v] = simd::load(b + i * ldb + v * kLanes); });
    unrolled<kRows, kVectors>([&](auto r, auto v) DIKKAT_INLINE { sums[r][v] += a[r * a_row + i * a_col] * bs[v]; });
  }
  unrolled<kRows, kVectors>([&](auto r, auto v) DIKKAT_INLINE { simd::store(c + r * ldc + v * kLanes, sums[r][v]); });
}
#undef DIKKAT_INLINE

template <class T, int kRows, int kVectors>
inline index tile_rows(const TileGemm<T>& p, index row, index col) noexcept {
  for (; row + kRows <= p.m; row += kRows) {
    tile_strip<T, kRows, kVectors>(p, row, col);
    if (p.ahead != nullptr) {
      p.ahead->fetch();
    }
  }
  return row;
}

template <class T, int kMostRows, int kVectors>
inline index tile_columns(const TileGemm<T>& p, index col) noexcept {
  for (; col + kVectors * simd::kLanes<T> <= p.n; col += kVectors * simd::kLanes<T>) {
    index row = tile_rows<T, kMostRows, kVectors>(p, 0, col);
    row = tile_rows<T, 4, kVectors>(p, row, col);
    row = tile_rows<T, 2, kVectors>(p, row, col);
    tile_rows<T, 1, kVectors>(p, row, col);
  }
  return col;
}

}  // namespace detail

/// The sums fill most of the vector registers; six rows still have enough registers for addresses.
template <class T>
inline void tile_gemm(const TileGemm<T>& p) noexcept {
  index col = 0;
  if constexpr (simd::kRegisters == 32) {
    col = detail::tile_columns<T, 6, 4>(p, col);
    col = detail::tile_columns<T, 8, 3>(p, col);
    col = detail::tile_columns<T, 8, 2>(p, col);
  } else {
    col = detail::tile_columns<T, 6, 2>(p, col);
  }
  detail::tile_columns<T, 8, 1>(p, col);
}

}  // namespace dikkat::kernels
