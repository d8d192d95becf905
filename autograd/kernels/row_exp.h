#pragma once

#include <cmath>
#include <limits>

#include "autograd/base/exp.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {

/// log of the sum of e^x over a row; -inf for an empty one. The largest x is taken out first, so nothing overflows.
template <class T>
T log_sum_exp(const T* x, index cols) noexcept {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  simd::Vec<T> highest = simd::broadcast(kLowest);
  simd::for_vectors<T>(0, cols, [&](index at, auto lanes) { highest = simd::max<T>(simd::load(x + at, lanes, kLowest), highest); });
  const T top = simd::max<T>(highest);
  if (top == kLowest) {
    return top;
  }
  simd::Vec<T> total{};
  simd::for_vectors<T>(0, cols, [&](index at, auto lanes) { total += simd::exp(simd::load(x + at, lanes, kLowest) - top); });
  return top + std::log(simd::sum<T>(total));
}

}  // namespace dikkat::kernels
