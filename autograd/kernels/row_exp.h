#pragma once

#include <limits>

#include "autograd/base/exp.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {

/// log sum e^x of a row x, as two numbers: it is top + log(sum). In one number, the digits of a small loss would be lost.
template <class T>
struct RowExp {
  T top;  // the largest x; -inf for an empty row
  T sum;  // of e^(x - top)
};
template <class T>
RowExp<Computed<T>> row_exp(const T* x, index cols) noexcept {
  using C = Computed<T>;
  constexpr C kLowest = -std::numeric_limits<C>::infinity();
  simd::Vec<C> highest = simd::broadcast(kLowest);
  simd::for_vectors<C>(0, cols, [&](index at, auto lanes) { highest = simd::max<C>(simd::load_as<C>(x + at, lanes, kLowest), highest); });
  const C top = simd::max<C>(highest);
  simd::Vec<C> total{};
  simd::for_vectors<C>(0, cols, [&](index at, auto lanes) { total += simd::exp(simd::load_as<C>(x + at, lanes, kLowest) - top); });
  return {top, simd::sum<C>(total)};
}

}  // namespace dikkat::kernels
