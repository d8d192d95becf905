#include "autograd/kernels/gemm/gemm_row.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/kernels/reduce/lane_sums.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::load;
using simd::Vec;

constexpr index kElements = 1 << 14;  // elements of B in a tile: few enough for equal shares

/// Returns the columns of C that are computed at once: their sums, and the vectors that are multiplied, fit into registers.
constexpr int columns_at_once(int rows) {
  constexpr int kSums = simd::kRegisters == 32 ? 24 : 12;
  constexpr int kMost = simd::kBytes == 16 ? 6 : 8;  // NEON does not multiply from memory: three rows of eight would not fit
  return std::clamp(kSums / rows, 1, kMost);
}

/// Adds the bias to the product of a row and a column, and stores it in C.
template <class T>
void put(const Gemm<T>& p, index row, index column, T total) {
  total += p.bias != nullptr ? p.bias[column] : T(0);
  T& c = p.c[row * p.ldc + column];
  c = p.add ? c + total : total;
}

/// Whether memory is the limit of one row of A, so that reading one row of B after another is fastest. One chain of sums with vectors of 16
/// bytes would be slower: it takes one of them in the four cycles or more of a multiply-add.
constexpr bool kRowAfterRow = simd::kBytes > 16;

/// Does what columns() below does, but for one row of A and at most kLanes columns, one row of B after another. The lanes of all their sums
/// are added together, which takes no longer than those of one.
template <class T>
void columns_of_one_row(const Gemm<T>& p, index first, index count) {
  constexpr int kIntoL2 = 2;
  Vec<T> sums[simd::kLanes<T>] = {};
  for (index column = 0; column < count; ++column) {
    const T* b = p.b + (first + column) * p.ldb;
    Vec<T> sum{};
    simd::for_vectors<T>(0, p.k, [&](index at, auto lanes) {
      simd::prefetch<kIntoL2>(b + at, p.ldb);
      sum += load(p.a + at, lanes) * load(b + at, lanes);
    });
    sums[column] = sum;
  }
  T totals[simd::kLanes<T>];
  simd::store(totals, lane_sums<T>(sums));
  for (index column = 0; column < count; ++column) {
    put(p, 0, first + column, totals[column]);
  }
}

/// Computes columns `first` to `first + kColumns` of C: all rows of A times kColumns rows of B. An element is one chain of sums, whatever
/// kRows and kColumns are.
template <class T, int kRows, int kColumns>
void columns(const Gemm<T>& p, index first) {
  constexpr int kLanes = static_cast<int>(simd::kLanes<T>);
  constexpr int kSums = (kRows * kColumns + kLanes - 1) / kLanes * kLanes;
  // Prefetch into L2: in L1 the rows would displace A.
  constexpr int kIntoL2 = 2;
  const T* b = p.b + first * p.ldb;
  Vec<T> sums[kSums] = {};
  const auto multiply = [&](index at, auto lanes) {
    Vec<T> factors[kColumns];
#pragma GCC unroll 8
    for (int column = 0; column < kColumns; ++column) {
      factors[column] = load(b + column * p.ldb + at, lanes);
      simd::prefetch<kIntoL2>(b + column * p.ldb + at, kColumns * p.ldb);  // the next columns
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
  // Sum over all of k, a vector at a time, then add the lanes of each sum.
  simd::for_vectors<T>(0, p.k, multiply);

  T totals[kSums];
#pragma GCC unroll 4
  for (int i = 0; i < kSums; i += kLanes) {
    simd::store(totals + i, lane_sums<T>(sums + i));
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      put(p, row, first + column, totals[row * kColumns + column]);
    }
  }
}

/// Computes columns begin to end - 1 of kRows rows.
template <class T, int kRows>
void tile(const Gemm<T>& p, index begin, index end) {
  index at = begin;
  if constexpr (kRows == 1 && kRowAfterRow) {
    for (; at < end; at += simd::kLanes<T>) {
      columns_of_one_row(p, at, std::min<index>(simd::kLanes<T>, end - at));
    }
    return;
  }
  constexpr int kColumns = columns_at_once(kRows);
  for (; at + kColumns <= end; at += kColumns) {
    columns<T, kRows, kColumns>(p, at);
  }
  for (; at < end; ++at) {
    columns<T, kRows, 1>(p, at);
  }
}

/// Does what tile() does, but for p.m rows, at most kRows.
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
  constexpr index kUnit = 24;  // columns: a multiple of columns_at_once() for any rows
  const index in_tile = round_up(std::max<index>(1, kElements / std::max<index>(p.k, 1)), kUnit);
  constexpr index kAsSlow = 4;  // reading B takes as long as that many rows' multiply-adds
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
