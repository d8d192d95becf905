#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "autograd/base/bf16.h"
#include "autograd/kernels/gemm/transpose_block.h"
#include "autograd/simd/simd.h"

// Operands in the order in which a tile of a product reads them. A word is the part multiplied at once for an element of C: an f32, or two
// bf16 that are adjacent in k; for arm64's bfmmla four. Widened bf16 are f32, whose pairs in k are swapped: a tile then adds products in
// the order of vdpbf16ps, the second of a pair first.
namespace dikkat::kernels {

/// The type of bf16 that are multiplied as f32.
struct Widened {};
/// The type of numbers that a tile reads, for operands of T.
template <class T>
using NumberOf = std::conditional_t<std::is_same_v<T, bf16>, bf16, float>;

template <class T>
struct WordOf {
  using type = float;
};
template <>
struct WordOf<bf16> {
#if defined(DIKKAT_BFMMLA)
  using type = std::uint64_t;
#else
  using type = std::uint32_t;
#endif
};
template <class T>
using Word = typename WordOf<T>::type;
/// Numbers in a word.
template <class T>
inline constexpr index kInWord = static_cast<index>(sizeof(Word<T>) / sizeof(NumberOf<T>));
/// Returns the words of `depth` numbers along k. bf16 that are missing in the last word, or pair, are zero.
template <class T>
constexpr index words_of(index depth) {
  return std::is_same_v<T, Widened> ? round_up(depth, 2) : ceil_div(depth, kInWord<T>);
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

/// Rounds a row of numbers to bf16.
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

/// Packs a row of numbers as words of bf16.
template <class From, class Bf16Word>
void pack_row(const From* from, index depth, Bf16Word* words) {
  constexpr auto kNumbers = static_cast<index>(sizeof(Bf16Word) / sizeof(bf16));
  auto* numbers = reinterpret_cast<bf16*>(words);
  round_row(from, depth, numbers);
  for (index i = depth; i % kNumbers != 0; ++i) {
    numbers[i] = bf16{0};
  }
}

/// Joins (ceil(depth / 2), kWidth) words of two bf16 to (ceil(depth / 4), kWidth) words of four, in the same memory.
template <index kWidth>
void join_words(index depth, std::uint64_t* words) {
  auto* row = reinterpret_cast<std::uint32_t*>(words);
  const index count = ceil_div(depth, 2);
  if (count % 2 != 0) {
    std::fill_n(row + count * kWidth, kWidth, 0U);
  }
  for (index k = 0; k < count; k += 2, row += 2 * kWidth) {
    std::uint32_t rows[2][kWidth];
    std::memcpy(rows, row, sizeof rows);
    for (index i = 0; i < kWidth; ++i) {
      row[2 * i] = rows[0][i];
      row[2 * i + 1] = rows[1][i];
    }
  }
}

/// `words` (depth, kWidth) = rows k = 0 to depth of `from`, kWidth columns. Columns after the first `count` are zero.
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
/// Does what pack_columns() does, but as bf16: (words_of(depth), kWidth).
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
      words[at] = std::bit_cast<std::uint32_t>(pair);
    }
  }
}

template <index kWidth, class From>
void pack_columns(const From* from, index ld, index count, index depth, std::uint64_t* words) {
  pack_columns<kWidth>(from, ld, count, depth, reinterpret_cast<std::uint32_t*>(words));
  join_words<kWidth>(depth, words);
}

/// `words` (depth, kWidth) = kWidth rows of `from` transposed, k from 0 to depth. Rows after the first `count` are zero.
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
/// Does what pack_rows() does, but as bf16: (words_of(depth), kWidth).
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
      words[k / 2 * kWidth + row] = std::bit_cast<std::uint32_t>(pair);
    }
  }
}
template <index kWidth, class From>
void pack_rows(const From* from, index ld, index count, index depth, std::uint64_t* words) {
  pack_rows<kWidth>(from, ld, count, depth, reinterpret_cast<std::uint32_t*>(words));
  join_words<kWidth>(depth, words);
}

// The functions below widen bf16, and f32 that they round to it.

inline simd::Vec<float> widened(const float* from) { return simd::rounded_as_bf16(simd::load(from)); }
inline simd::Vec<float> widened(const bf16* from) { return simd::load_bf16(from); }

/// Widens a row of numbers, its pairs swapped.
template <class From>
void widen_row(const From* from, index depth, float* to) {
  index k = 0;
  for (; k + simd::kLanes<float> <= depth; k += simd::kLanes<float>) {
    simd::store(to + k, simd::swapped_pairs(widened(from + k)));
  }
  for (; k < round_up(depth, 2); ++k) {
    to[k ^ 1] = k < depth ? to_float(detail::rounded(from[k])) : 0.0F;
  }
}

/// Does what pack_columns() does, but widens: (words_of<Widened>(depth), kWidth).
template <index kWidth, class From>
void widen_columns(const From* from, index ld, index count, index depth, float* to) {
  for (index k = 0; k < round_up(depth, 2); ++k) {
    const From* row = from + k * ld;
    float* const out = to + (k ^ 1) * kWidth;
    const index used = k < depth ? std::min(count, kWidth) : 0;
    index at = 0;
    for (; at + simd::kLanes<float> <= used; at += simd::kLanes<float>) {
      simd::store(out + at, widened(row + at));
    }
    for (; at < kWidth; ++at) {
      out[at] = at < used ? to_float(detail::rounded(row[at])) : 0.0F;
    }
  }
}

/// Widens (words_of<Widened>(depth), kWidth) numbers, which pack(k, count, words) packs as words of bf16, `count` k at a time.
template <index kWidth, class Pack>
void widen_words(index depth, float* to, Pack&& pack) {
  constexpr index kAtOnce = 32;
  alignas(64) std::uint32_t words[kAtOnce / 2 * kWidth];  // they stay in L1
  for (index k = 0; k < depth; k += kAtOnce) {
    const index count = std::min(kAtOnce, depth - k);
    pack(k, count, words);
    for (index pair = 0; pair < ceil_div(count, 2); ++pair, to += 2 * kWidth) {
      for (index i = 0; i < kWidth; i += simd::kLanes<float>) {
        const auto word = simd::load(words + pair * kWidth + i);
        simd::store(to + i, reinterpret_cast<simd::Vec<float>>(word & 0xFFFF'0000U));
        simd::store(to + kWidth + i, reinterpret_cast<simd::Vec<float>>(word << 16));
      }
    }
  }
}

}  // namespace dikkat::kernels
