#pragma once

#include "autograd/base/simd.h"

namespace dikkat::kernels {

/// C (m, n) = A (m, k) * B (k, n), plus what C holds if `add`, for tiles that lie in cache. n is a multiple of the lanes.
/// A may have any strides (its elements are broadcast); rows of B and C are contiguous, ldb and ldc apart.
/// Each element is summed over k in order, whatever the tile's size.
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
};

namespace detail {

/// kRows x kVectors accumulators that stay in registers.
template <class T, int kRows, int kVectors>
inline void tile_strip(const TileGemm<T>& p, index row, index col) noexcept {
  using simd::Vec;
  const T* a = p.a + row * p.a_row;
  const T* b = p.b + col;
  T* c = p.c + row * p.ldc + col;
  Vec<T> sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = p.add ? simd::load(c + r * p.ldc + v * simd::kLanes<T>) : Vec<T>{};
    }
  }
  for (index i = 0; i < p.k; ++i) {
    Vec<T> bs[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      bs[v] = simd::load(b + i * p.ldb + v * simd::kLanes<T>);
    }
    for (int r = 0; r < kRows; ++r) {
      const T ar = a[r * p.a_row + i * p.a_col];
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] += ar * bs[v];
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      simd::store(c + r * p.ldc + v * simd::kLanes<T>, sums[r][v]);
    }
  }
}

template <class T, int kRows, int kVectors>
inline index tile_rows(const TileGemm<T>& p, index row, index col) noexcept {
  for (; row + kRows <= p.m; row += kRows) {
    tile_strip<T, kRows, kVectors>(p, row, col);
  }
  return row;
}

template <class T, int kMostRows, int kVectors>
inline void tile_columns(const TileGemm<T>& p, index col) noexcept {
  index row = tile_rows<T, kMostRows, kVectors>(p, 0, col);
  row = tile_rows<T, 4, kVectors>(p, row, col);
  row = tile_rows<T, 2, kVectors>(p, row, col);
  tile_rows<T, 1, kVectors>(p, row, col);
}

}  // namespace detail

template <class T>
inline void tile_gemm(const TileGemm<T>& p) noexcept {
  constexpr index kLanes = simd::kLanes<T>;
  index col = 0;
  for (; col + 4 * kLanes <= p.n; col += 4 * kLanes) {
    detail::tile_columns<T, 6, 4>(p, col);
  }
  for (; col + 2 * kLanes <= p.n; col += 2 * kLanes) {
    detail::tile_columns<T, 12, 2>(p, col);
  }
  for (; col < p.n; col += kLanes) {
    detail::tile_columns<T, 12, 1>(p, col);
  }
}

}  // namespace dikkat::kernels
