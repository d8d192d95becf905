#include "autograd/kernels/gemm_row.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/lane_sums.h"

namespace dikkat::kernels {
namespace {

using simd::load;
using simd::Vec;

constexpr index kElements = 1 << 14;  // elements of B in a tile: few enough for equal shares

/// Columns of C that are computed at once: their sums, and the vectors that are multiplied, fit into registers. For one row, memory
/// bandwidth is the limit, and reading one row of B after another is fastest.
constexpr int columns_at_once(int rows) {
  constexpr int kSums = simd::kBytes == 64 ? 24 : 12;
  return rows == 1 ? 1 : std::clamp(kSums / rows, 1, 8);
}

/// A part of a product: elements `begin` to `end` - 1 of the rows of A and B.
struct Range {
  index begin, end;
};

/// Columns `first` to `first + kColumns` of C: all rows of A times kColumns rows of B, over a range of k. An element is one chain of sums,
/// whatever kRows and kColumns are: `kept` has the sums before the range, unless it begins at 0, and gets those after it, unless it ends at
/// k. Prefetches the elements of B that are `ahead` elements further, which are needed next.
template <class T, int kRows, int kColumns>
void columns(const Gemm<T>& p, index first, Range range, index ahead, Vec<T>* kept) {
  constexpr int kLanes = static_cast<int>(simd::kLanes<T>);
  constexpr int kSums = (kRows * kColumns + kLanes - 1) / kLanes * kLanes;
  // Prefetch into L2: in L1 the rows would displace A.
  constexpr int kIntoL2 = 2;
  const T* b = p.b + first * p.ldb;
  Vec<T> sums[kSums] = {};
  if (range.begin > 0) {
    std::copy_n(kept, kRows * kColumns, sums);
  }
  const auto multiply = [&](index at, auto lanes) {
    Vec<T> factors[kColumns];
#pragma GCC unroll 8
    for (int column = 0; column < kColumns; ++column) {
      factors[column] = load(b + column * p.ldb + at, lanes);
      simd::prefetch<kIntoL2>(b + column * p.ldb + at, ahead);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const Vec<T> a = load(p.a + row * p.lda + at, lanes);
#pragma GCC unroll 8
      for (int column = 0; column < kColumns; ++column) {
        sums[row * kColumns + column] += a * factors[column];
      }
    }
  };
  // Sum over the range, a vector at a time, then add the lanes of each sum.
  simd::for_vectors<T>(range.begin, range.end, multiply);
  if (range.end < p.k) {
    std::copy_n(sums, kRows * kColumns, kept);
    return;
  }

  T totals[kSums];
#pragma GCC unroll 4
  for (int i = 0; i < kSums; i += kLanes) {
    simd::store(totals + i, lane_sums<T>(sums + i));
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const T total = totals[row * kColumns + column] + (p.bias != nullptr ? p.bias[first + column] : T(0));
      T& c = p.c[row * p.ldc + first + column];
      c = p.add ? c + total : total;
    }
  }
}

constexpr index kUnit = 24;  // columns: a multiple of columns_at_once() for any rows

/// Columns begin to end - 1 of kRows rows, over a range of k; see columns(). `next`: from the first column's elements of B to those that
/// are needed after this range.
template <class T, int kRows>
void tile(const Gemm<T>& p, index begin, index end, Range range, index next, Vec<T>* kept) {
  constexpr int kColumns = columns_at_once(kRows);
  const auto kept_of = [&](index column) { return kept == nullptr ? nullptr : kept + (column - begin) * kRows; };
  index at = begin;
  for (; at + kColumns <= end; at += kColumns) {
    const index ahead = at + kColumns < end ? kColumns * p.ldb : next - (at - begin) * p.ldb;
    columns<T, kRows, kColumns>(p, at, range, ahead, kept_of(at));
  }
  for (; at < end; ++at) {
    columns<T, kRows, 1>(p, at, range, p.ldb, kept_of(at));
  }
}

/// Columns begin to end - 1 of kRows rows. If the rows of A are long, it works on ranges of k, in which they stay in L1.
template <class T, int kRows>
void tile(const Gemm<T>& p, index begin, index end) {
  constexpr index kBytes = 24 << 10;
  constexpr index kRange = kBytes / (8 * static_cast<index>(sizeof(T)));  // of eight rows
  if (kRows * p.k * static_cast<index>(sizeof(T)) <= kBytes || end - begin > kUnit) {
    tile<T, kRows>(p, begin, end, {0, p.k}, (end - begin) * p.ldb, nullptr);
    return;
  }
  Vec<T> kept[kUnit * kRows];
  for (index at = 0; at < p.k; at += kRange) {
    const bool is_last = at + kRange >= p.k;
    tile<T, kRows>(p, begin, end, {at, std::min(at + kRange, p.k)}, is_last ? (end - begin) * p.ldb - at : kRange, kept);
  }
}

/// As tile(), for p.m rows, at most kRows.
template <class T, int kRows>
void tile_of_rows(const Gemm<T>& p, index begin, index end) {
  if (p.m == kRows) {
    tile<T, kRows>(p, begin, end);
  } else if constexpr (kRows > 1) {
    tile_of_rows<T, kRows - 1>(p, begin, end);
  }
}

}  // namespace

template <class T>
void gemm_few_rows(const Gemm<T>& p) {
  constexpr int kRows = 8;
  const index in_tile = round_up(std::max<index>(1, kElements / std::max<index>(p.k, 1)), kUnit);
  constexpr index kAsSlow = 8;  // reading B takes as long as that many rows' multiply-adds
  parallel_blocks(p.n, in_tile, Work::products(std::max(p.m, kAsSlow), p.n, p.k), [&](index begin, index end) {
    for (index row = 0; row < p.m; row += kRows) {
      Gemm<T> some = p;
      some.m = std::min<index>(kRows, p.m - row);
      some.a += row * p.lda;
      some.c += row * p.ldc;
      tile_of_rows<T, kRows>(some, begin, end);
    }
  });
}

template void gemm_few_rows<float>(const Gemm<float>&);
template void gemm_few_rows<double>(const Gemm<double>&);

}  // namespace dikkat::kernels
