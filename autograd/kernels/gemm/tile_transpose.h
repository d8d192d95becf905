#pragma once

#include <utility>

#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace detail {

/// Does one step of a transposition, for rows a and b that are kStep apart in a square: swaps the odd blocks of kStep lanes of a with the
/// even blocks of b.
template <class T, int kStep, int... lane>
inline void exchange_blocks(simd::Vec<T>& a, simd::Vec<T>& b, std::integer_sequence<int, lane...>) {
  constexpr int kLanes = sizeof...(lane);
  const simd::Vec<T> upper = __builtin_shufflevector(a, b, ((lane & kStep) ? kLanes + lane - kStep : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & kStep) ? kLanes + lane : lane + kStep)...);
  a = upper;
}

/// Transposes a square of kLanes by kLanes in registers: blocks of 1, 2, 4 ... lanes at a time.
template <class T, int kStep = 1>
inline void transpose_square(simd::Vec<T>* rows) {
  constexpr int kLanes = static_cast<int>(simd::kLanes<T>);
  if constexpr (kStep < kLanes) {
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
      if ((row & kStep) == 0) {
        exchange_blocks<T, kStep>(rows[row], rows[row + kStep], std::make_integer_sequence<int, kLanes>{});
      }
    }
    transpose_square<T, 2 * kStep>(rows);
  }
}

}  // namespace detail

/// to (cols, rows) = factor * from (rows, cols), transposed; rows and cols are multiples of simd::kLanes. Rows of `from` are from_row
/// elements apart, rows of `to` to_row.
template <class T>
inline void tile_transpose(index rows, index cols, T factor, const T* from, index from_row, T* to, index to_row) noexcept {
  constexpr index kLanes = simd::kLanes<T>;
  for (index row = 0; row < rows; row += kLanes) {
    for (index col = 0; col < cols; col += kLanes) {
      simd::Vec<T> square[kLanes];
#pragma GCC unroll 16
      for (index i = 0; i < kLanes; ++i) {
        square[i] = simd::load(from + (row + i) * from_row + col) * factor;
      }
      detail::transpose_square<T>(square);
#pragma GCC unroll 16
      for (index i = 0; i < kLanes; ++i) {
        simd::store(to + (col + i) * to_row + row, square[i]);
      }
    }
  }
}

}  // namespace dikkat::kernels
