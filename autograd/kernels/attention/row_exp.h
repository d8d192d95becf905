#pragma once

#include <limits>

#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

/// log sum e^x of a row x, as two numbers: it is top + log(sum). In one number, the digits of a small loss would be lost.
template <class T>
struct RowExp {
  T top;  // the largest x; -inf for an empty row
  T sum;  // sum of e^(x - top)
};
/// Calls keep(at, e, lanes) with each vector e of e^(x - top), in order.
template <class T, class F>
RowExp<Computed<T>> row_exp(const T* x, index cols, F&& keep) noexcept {
  using C = Computed<T>;
  constexpr C kLowest = -std::numeric_limits<C>::infinity();
  simd::Vec<C> highest = simd::broadcast(kLowest);
  simd::for_vectors<C>(0, cols, [&](index at, auto lanes) { highest = simd::max<C>(simd::load_as<C>(x + at, lanes, kLowest), highest); });
  const C top = simd::max<C>(highest);
  simd::Vec<C> total{};
  simd::for_vectors<C>(0, cols, [&](index at, auto lanes) {
    const simd::Vec<C> e = simd::exp(simd::load_as<C>(x + at, lanes, kLowest) - top);
    keep(at, e, lanes);
    total += e;
  });
  return {top, simd::sum<C>(total)};
}
template <class T>
RowExp<Computed<T>> row_exp(const T* x, index cols) noexcept {
  return row_exp(x, cols, [](index, auto, auto) {});
}

}  // namespace dikkat::kernels
