#include "autograd/kernels/gemm_row.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {
namespace {

using simd::load;
using simd::Vec;

constexpr index kElements = 1 << 16;  // of B in a tile: enough to pay for handing it out

/// Elements `first` to `first + kColumns` of C: a times as many rows of B, each in two chains of sums.
template <class T, int kColumns>
void columns(const Gemm<T>& p, index first) {
  constexpr index kLanes = simd::kLanes<T>;
  constexpr int kChains = 2;
  const T* b = p.b + first * p.ldb;
  Vec<T> sums[kColumns][kChains] = {};
  index at = 0;
  for (; at + kChains * kLanes <= p.k; at += kChains * kLanes) {
    for (int chain = 0; chain < kChains; ++chain) {
      const Vec<T> a = load(p.a + at + chain * kLanes);
      for (int column = 0; column < kColumns; ++column) {
        sums[column][chain] += a * load(b + column * p.ldb + at + chain * kLanes);
      }
    }
  }
  for (int column = 0; column < kColumns; ++column) {
    T total = simd::sum<T>(sums[column][0] + sums[column][1]);
    for (index i = at; i < p.k; ++i) {
      total += p.a[i] * b[column * p.ldb + i];
    }
    total += p.bias != nullptr ? p.bias[first + column] : T(0);
    T& c = p.c[first + column];
    c = p.add ? c + total : total;
  }
}

}  // namespace

template <class T>
void gemm_one_row(const Gemm<T>& p) noexcept {
  constexpr int kColumns = 4;
  const index in_tile = round_up(std::max<index>(1, kElements / std::max<index>(p.k, 1)), kColumns);
  parallel_blocks(p.n, in_tile, [&](index begin, index end) {
    index at = begin;
    for (; at + kColumns <= end; at += kColumns) {
      columns<T, kColumns>(p, at);
    }
    for (; at < end; ++at) {
      columns<T, 1>(p, at);
    }
  });
}

template void gemm_one_row<float>(const Gemm<float>&) noexcept;
template void gemm_one_row<double>(const Gemm<double>&) noexcept;

}  // namespace dikkat::kernels
