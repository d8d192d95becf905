#pragma once

#include <algorithm>
#include <cstring>

#include "autograd/base/bf16.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/transpose_block.h"

// Operands in the order in which a tile of a product reads them. A word is what a lane multiplies at once: an f32, or two bf16 that are
// adjacent in k.
namespace dikkat::kernels {

template <class T>
struct WordOf {
  using type = float;
};
template <>
struct WordOf<bf16> {
  using type = std::uint32_t;
};
template <class T>
using Word = typename WordOf<T>::type;
/// Numbers in a word.
template <class T>
inline constexpr index kInWord = static_cast<index>(sizeof(Word<T>) / sizeof(T));
/// Words of `depth` numbers along k. A bf16 that is missing in the last word is zero.
template <class T>
constexpr index words_of(index depth) {
  return ceil_div(depth, kInWord<T>);
}

template <class T>
Word<T> word_at(const T* numbers) {
  Word<T> word;
  std::memcpy(&word, numbers, sizeof word);
  return word;
}

namespace detail {

inline bf16 rounded(float value) { return to_bf16(value); }
inline bf16 rounded(bf16 value) { return value; }

}  // namespace detail

/// A row of numbers as bf16.
template <class From>
void round_row(const From* from, index count, bf16* to) {
  index i = 0;
  for (; i + simd::kLanes<float> <= count; i += simd::kLanes<float>) {
    simd::store_bf16(to + i, simd::load_as<float>(from + i, simd::Whole{}));
  }
  for (; i < count; ++i) {
    to[i] = detail::rounded(from[i]);
  }
}

/// A row of numbers as words of bf16.
template <class From>
void pack_row(const From* from, index depth, std::uint32_t* words) {
  auto* numbers = reinterpret_cast<bf16*>(words);
  round_row(from, depth, numbers);
  if (depth % 2 != 0) {
    numbers[depth] = bf16{0};
  }
}

/// `words` (depth, kWidth) = rows k = 0 to depth of `from`, kWidth columns. Columns from `count` on are zero.
template <index kWidth>
void pack_columns(const float* from, index ld, index count, index depth, float* words) {
  for (index k = 0; k < depth; ++k) {
    if (count == kWidth) {
      std::memcpy(words + k * kWidth, from + k * ld, kWidth * sizeof(float));
    } else {
      std::copy_n(from + k * ld, count, words + k * kWidth);
      std::fill_n(words + k * kWidth + count, kWidth - count, 0.0F);
    }
  }
}
/// pack_columns() as bf16: (words_of(depth), kWidth).
template <index kWidth, class From>
void pack_columns(const From* from, index ld, index count, index depth, std::uint32_t* words) {
  constexpr index kLanes = simd::kLanes<float>;
  const auto all = [](const From* at) { return simd::load_as<float>(at, simd::Whole{}); };
  for (index k = 0; k < depth; k += 2, words += kWidth) {
    const From* row = from + k * ld;
    index at = 0;
    if (k + 1 < depth) {
      for (; at + kLanes <= std::min(count, kWidth); at += kLanes) {
        simd::store(words + at, simd::bf16_words(all(row + at), all(row + ld + at)));
      }
    }
    for (; at < kWidth; ++at) {
      bf16 pair[2] = {};
      if (at < count) {
        pair[0] = detail::rounded(row[at]);
        pair[1] = k + 1 < depth ? detail::rounded(row[ld + at]) : bf16{0};
      }
      words[at] = word_at(pair);
    }
  }
}

/// `words` (depth, kWidth) = kWidth rows of `from` transposed, k from 0 to depth. Rows from `count` on are zero.
template <index kWidth>
void pack_rows(const float* from, index ld, index count, index depth, float* words) {
  index k = 0;
  for (; k + kTransposeSize <= depth; k += kTransposeSize) {
    for (index group = 0; group < kWidth; group += kTransposeSize) {
      const index rows = std::clamp<index>(count - group, 0, kTransposeSize);
      transpose_block(from + std::min(group, count) * ld + k, ld, rows, words + k * kWidth + group, kWidth);
    }
  }
  for (; k < depth; ++k) {
    for (index row = 0; row < kWidth; ++row) {
      words[k * kWidth + row] = row < count ? from[row * ld + k] : 0.0F;
    }
  }
}
/// pack_rows() as bf16: (words_of(depth), kWidth).
template <index kWidth, class From>
void pack_rows(const From* from, index ld, index count, index depth, std::uint32_t* words) {
  constexpr index kDepth = 2 * kTransposeSize;
  index k = 0;
  for (; k + kDepth <= depth; k += kDepth) {
    for (index group = 0; group < kWidth; group += kTransposeSize) {
      const index rows = std::clamp<index>(count - group, 0, kTransposeSize);
      bf16 numbers[kTransposeSize][kDepth];
      std::uint32_t block[kTransposeSize][kTransposeSize];
      for (index row = 0; row < rows; ++row) {
        round_row(from + (group + row) * ld + k, kDepth, numbers[row]);
      }
      std::memcpy(block, numbers, sizeof block);
      transpose_block(block[0], kTransposeSize, rows, words + k / 2 * kWidth + group, kWidth);
    }
  }
  for (; k < depth; k += 2) {
    for (index row = 0; row < kWidth; ++row) {
      bf16 pair[2] = {};
      if (row < count) {
        pair[0] = detail::rounded(from[row * ld + k]);
        pair[1] = k + 1 < depth ? detail::rounded(from[row * ld + k + 1]) : bf16{0};
      }
      words[k / 2 * kWidth + row] = word_at(pair);
    }
  }
}

}  // namespace dikkat::kernels
