#pragma once

#include <utility>

#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace detail {

/// Folds each block of kWidth lanes to half its width; blocks of a and b alternate in the result.
template <class T, int kWidth, int... lane>
inline simd::Vec<T> fold_blocks(simd::Vec<T> a, simd::Vec<T> b, std::integer_sequence<int, lane...>) {
  constexpr int kLanes = sizeof...(lane);
  constexpr int kHalf = kWidth / 2;
  const simd::Vec<T> low = __builtin_shufflevector(a, b, (lane / kHalf % 2 * kLanes + lane / kWidth * kWidth + lane % kHalf)...);
  const simd::Vec<T> high = __builtin_shufflevector(a, b, (lane / kHalf % 2 * kLanes + lane / kWidth * kWidth + lane % kHalf + kHalf)...);
  return low + high;
}

template <class T, int kWidth>
inline void fold_all(simd::Vec<T>* vectors) {
  if constexpr (kWidth > 1) {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth / 2; ++i) {
      vectors[i] =
          fold_blocks<T, kWidth>(vectors[i], vectors[i + kWidth / 2], std::make_integer_sequence<int, static_cast<int>(simd::kLanes<T>)>{});
    }
    fold_all<T, kWidth / 2>(vectors);
  }
}

}  // namespace detail

/// Returns a vector whose lane i is the sum of the lanes of vectors[i], for i < kLanes. The additions have the order of simd::sum(). Takes
/// three instructions per sum. Overwrites the vectors.
template <class T>
inline simd::Vec<T> lane_sums(simd::Vec<T>* vectors) {
  detail::fold_all<T, static_cast<int>(simd::kLanes<T>)>(vectors);
  return vectors[0];
}

}  // namespace dikkat::kernels
