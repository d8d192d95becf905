#pragma once

#include <cstring>

#include "autograd/base/index.h"

namespace dikkat::kernels {

inline constexpr index kTransposeSize = 8;  // rows and columns of a block

/// to (8, 8) = from (8, 8) transposed, of numbers of 4 bytes; rows of `from` after the first `count` are taken as zero.
template <class T>
inline void transpose_block(const T* from, index from_ld, index count, T* to, index to_ld) {
#if !defined(__AVX2__)  // registers of 16 bytes: four blocks of four
  typedef T Four __attribute__((vector_size(16)));
  constexpr index kFour = 4;
  for (index row = 0; row < kTransposeSize; row += kFour) {
    for (index col = 0; col < kTransposeSize; col += kFour) {
      // Load four rows; rows that are missing are zero.
      Four rows[kFour] = {}, pairs[kFour];
      for (index i = 0; i < kFour; ++i) {
        if (row + i < count) {
          std::memcpy(&rows[i], from + (row + i) * from_ld + col, sizeof rows[i]);
        }
      }
      // Interleave adjacent rows, then pairs of rows.
      for (index i = 0; i < kFour; i += 2) {
        pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 4, 2, 6);
        pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 1, 5, 3, 7);
      }
      for (index i = 0; i < 2; ++i) {
        const Four low = __builtin_shufflevector(pairs[i], pairs[i + 2], 0, 1, 4, 5);
        const Four high = __builtin_shufflevector(pairs[i], pairs[i + 2], 2, 3, 6, 7);
        std::memcpy(to + (col + i) * to_ld + row, &low, sizeof low);
        std::memcpy(to + (col + i + 2) * to_ld + row, &high, sizeof high);
      }
    }
  }
#else
  typedef T Eight __attribute__((vector_size(32)));
  // Load the rows; those that are missing are zero.
  Eight rows[kTransposeSize] = {};
  for (index i = 0; i < count; ++i) {
    std::memcpy(&rows[i], from + i * from_ld, sizeof rows[i]);
  }
  // Interleave adjacent rows, then pairs of rows.
  Eight pairs[kTransposeSize], fours[kTransposeSize];
  for (index i = 0; i < kTransposeSize; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (index i = 0; i < kTransposeSize; i += 4) {
    for (index half = 0; half < 2; ++half) {
      fours[i + 2 * half] = __builtin_shufflevector(pairs[i + half], pairs[i + 2 + half], 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * half + 1] = __builtin_shufflevector(pairs[i + half], pairs[i + 2 + half], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  // Join the halves of columns.
  for (index i = 0; i < kTransposeSize / 2; ++i) {
    const Eight low = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const Eight high = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(to + i * to_ld, &low, sizeof low);
    std::memcpy(to + (i + 4) * to_ld, &high, sizeof high);
  }
#endif
}

}  // namespace dikkat::kernels
