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
RowExp<T> row_exp(const T* x, index cols) noexcept {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  simd::Vec<T> highest = simd::broadcast(kLowest);
  simd::for_vectors<T>(0, cols, [&](index at, auto lanes) { highest = simd::max<T>(simd::load(x + at, lanes, kLowest), highest); });
  const T top = simd::max<T>(highest);
  simd::Vec<T> total{};
  simd::for_vectors<T>(0, cols, [&](index at, auto lanes) { total += simd::exp(simd::load(x + at, lanes, kLowest) - top); });
  return {top, simd::sum<T>(total)};
}

}  // namespace dikkat::kernels
