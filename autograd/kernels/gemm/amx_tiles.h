#pragma once

// Tiles of AMX for the sources that multiply by them. They are compiled with the options of AMX, and called only where the processor has
// it.
#if !defined(__AMX_BF16__) && !defined(__AMXBF16__)
#error "a source of AMX is compiled without -mamx-bf16, expected it wherever kernels may choose AMX"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <immintrin.h>

#include "autograd/base/bf16.h"
#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/simd/simd.h"

// C = A B by the eight tile registers: four hold 2 x 2 tiles of C, two hold tiles of A and two of B. A tile has 16 rows of 64 bytes. One of
// A is 16 rows of 32 k; one of B is 16 words of k, two k each, of 16 columns.
namespace dikkat::kernels::amx {

constexpr index kTile = 16;              // rows of a tile, and its columns of C
constexpr index kStep = 32;              // k of a tile
constexpr index kRows = 2 * kTile;       // rows of a strip
constexpr index kCols = 2 * kTile;       // columns of a panel
constexpr index kStepWords = kStep / 2;  // words of a column of B
constexpr index kTileBytes = 1024;       // bytes of a whole tile

using Words = simd::Vec<std::uint32_t>;

/// Finishes stores before gcc's intrinsics, which do not declare the memory that they read. `written` is the memory that was written for
/// them, if it is a local variable.
inline void finish_stores(const void* written = nullptr) { __asm__ volatile("" : : "r"(written) : "memory"); }

/// The configuration of the tile registers: 0 to 3 are C, 4 and 5 A, 6 and 7 B.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// This thread's tile registers. They are released when it ends, so that nothing else of the thread has to save them.
class TileRegisters {
 public:
  TileRegisters() = default;
  ~TileRegisters() {
    if (rows_ != 0) {
      release();
    }
  }
  static void release() { _tile_release(); }
  /// Leaves the registers configured: another object releases them.
  void keep() { rows_ = 0; }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;

  /// Prepares them for a strip of `rows` rows.
  void configure(index rows) {
    if (rows == rows_) {
      return;
    }
    rows_ = rows;
    const auto upper = static_cast<std::uint8_t>(std::min(rows, kTile));
    const auto lower = static_cast<std::uint8_t>(std::max<index>(rows - kTile, 1));  // unused with fewer rows
    TileConfig config;
    std::fill_n(config.row_bytes, 8, std::uint16_t{64});
    const std::uint8_t of_register[8] = {upper, upper, lower, lower, upper, lower, kTile, kTile};
    std::copy_n(of_register, 8, config.rows);
    finish_stores(&config);
    _tile_loadconfig(&config);
  }

 private:
  index rows_ = 0;
};

/// Describes where the tiles of A of a strip lie: bytes from row to row, from the first tile to the one 16 rows below, and to the one of
/// the next 32 k.
struct TilesOfA {
  const std::byte* at;
  index row, below, next;
};

/// A part of A that is fetched, some lines in each step.
struct Ahead {
  TilesOfA a;
  index line, in_step;

  /// Fetches the lines of one step, of which `first` is the first.
  void fetch(index first) const {
    for (index i = first; i < first + in_step; ++i) {
      __builtin_prefetch(a.at + i % kRows * a.row + i / kRows * a.next);
    }
  }
};

/// Points to the numbers that a tile's sums are added to, in rows `row_bytes` apart (0: all tile rows use one row). Null: no numbers.
struct Base {
  const float* at;
  index row_bytes;
};

/// c (kRowTiles x kColTiles tiles) = base + a b, for `steps` tiles of k. b is a panel. Fetches `ahead` meanwhile. Structures are passed by
/// reference. A copy on the stack is read in wider pieces than it was written in, and such a read waits until all earlier tiles are stored.
template <int kRowTiles, int kColTiles>
void multiply_tiles(index steps, const TilesOfA& tiles_of_a, const std::uint32_t* b, const Base& base, float* c, index c_bytes,
                    const Ahead& ahead) {
  constexpr bool kRight = kColTiles == 2, kBelow = kRowTiles == 2;
  constexpr index kPanelBytes = kCols * 4;
  finish_stores();
  // Load the base.
  if (base.at == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    const float* below = base.at + kTile * base.row_bytes / 4;
    _tile_loadd(0, base.at, base.row_bytes);
    if constexpr (kRight) {
      _tile_loadd(1, base.at + kTile, base.row_bytes);
    }
    if constexpr (kBelow) {
      _tile_loadd(2, below, base.row_bytes);
    }
    if constexpr (kRight && kBelow) {
      _tile_loadd(3, below + kTile, base.row_bytes);
    }
  }
  // Add the products.
  const std::byte* a = tiles_of_a.at;
  const index a_row = tiles_of_a.row, a_below = tiles_of_a.below, a_next = tiles_of_a.next;
  index line = ahead.line;
  for (index step = 0; step < steps; ++step, a += a_next, b += kStepWords * kCols, line += ahead.in_step) {
    _tile_loadd(6, b, kPanelBytes);
    _tile_loadd(4, a, a_row);
    _tile_dpbf16ps(0, 4, 6);
    ahead.fetch(line);
    if constexpr (kBelow) {
      _tile_loadd(5, a + a_below, a_row);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kRight) {
      _tile_loadd(7, b + kTile, kPanelBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRight && kBelow) {
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  // Store the sums.
  float* below = c + kTile * c_bytes / 4;
  _tile_stored(0, c, c_bytes);
  if constexpr (kRight) {
    _tile_stored(1, c + kTile, c_bytes);
  }
  if constexpr (kBelow) {
    _tile_stored(2, below, c_bytes);
  }
  if constexpr (kRight && kBelow) {
    _tile_stored(3, below + kTile, c_bytes);
  }
  finish_stores();
}

using MultiplyTiles = decltype(&multiply_tiles<1, 1>);
/// multiply_tiles() for one or two tiles of rows and of columns.
inline constexpr MultiplyTiles kMultiply[2][2] = {{multiply_tiles<1, 1>, multiply_tiles<1, 2>},
                                                  {multiply_tiles<2, 1>, multiply_tiles<2, 2>}};

/// Transposes a tile of words.
inline void transpose(Words (&rows)[kTile]) {
  Words pairs[kTile], fours[kTile];
  for (index i = 0; i < kTile; i += 2) {
    pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  for (index i = 0; i < kTile; i += 4) {
    for (index half = 0; half < 2; ++half) {
      const Words a = pairs[i + half], b = pairs[i + 2 + half];
      fours[i + 2 * half] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      fours[i + 2 * half + 1] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
  }
  // The four words at 4 l of fours[4 i + j] are rows 4 i to 4 i + 3 of column 4 l + j.
  const auto even = [](Words a, Words b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  };
  const auto odd = [](Words a, Words b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  };
  for (index j = 0; j < 4; ++j) {
    const Words upper_even = even(fours[j], fours[4 + j]), lower_even = even(fours[8 + j], fours[12 + j]);
    const Words upper_odd = odd(fours[j], fours[4 + j]), lower_odd = odd(fours[8 + j], fours[12 + j]);
    rows[j] = even(upper_even, lower_even);
    rows[4 + j] = even(upper_odd, lower_odd);
    rows[8 + j] = odd(upper_even, lower_even);
    rows[12 + j] = odd(upper_odd, lower_odd);
  }
}

/// Returns 32 adjacent numbers as words.
inline Words words_of_row(const float* from) {
  return reinterpret_cast<Words>(_mm512_cvtne2ps_pbh(simd::load(from + kTile), simd::load(from)));
}
inline Words words_of_row(const bf16* from) { return simd::load(reinterpret_cast<const std::uint32_t*>(from)); }
/// Returns only the first `count` of them; the others are zero.
template <class From>
Words words_of_row(const From* from, index count) {
  if (count == kStep) {
    return words_of_row(from);
  }
  bf16 numbers[kStep] = {};
  round_row(from, count, numbers);
  return words_of_row(numbers);
}

/// The words of two rows of 32 columns: a number of each.
struct WordPair {
  Words left, right;
};
inline WordPair words_of_columns(const float* upper, const float* lower) {
  return {simd::bf16_words(simd::load(upper), simd::load(lower)), simd::bf16_words(simd::load(upper + kTile), simd::load(lower + kTile))};
}
inline WordPair words_of_columns(const bf16* upper, const bf16* lower) {
  typedef std::uint16_t Halves __attribute__((vector_size(simd::kBytes)));
  const auto a = reinterpret_cast<Halves>(words_of_row(upper)), b = reinterpret_cast<Halves>(words_of_row(lower));
  return {reinterpret_cast<Words>(__builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10,
                                                          42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47)),
          reinterpret_cast<Words>(__builtin_shufflevector(a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25,
                                                          57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63))};
}

/// Calls put(word, words) for the 16 words of `depth` rows of 32 columns. Columns after the first `count`, and rows after the first
/// `depth`, are zero. Fetches the next 32 rows.
template <class From, class F>
void for_columns_of_words(const From* from, index ld, index count, index depth, F&& put) {
  constexpr index kLine = 64 / sizeof(From);
  for (index row = kStep; row < 2 * kStep; ++row) {
    for (index at = 0; at < kCols; at += kLine) {
      __builtin_prefetch(from + row * ld + at);
    }
  }
  if (count >= kCols && depth == kStep) {
    for (index word = 0; word < kStepWords; ++word, from += 2 * ld) {
      put(word, words_of_columns(from, from + ld));
    }
    return;
  }
  std::uint32_t words[kStepWords * kCols];
  pack_columns<kCols>(from, ld, std::min(count, kCols), depth, words);
  std::fill(words + words_of<bf16>(depth) * kCols, std::end(words), 0U);
  for (index word = 0; word < kStepWords; ++word) {
    put(word, WordPair{simd::load(words + word * kCols), simd::load(words + word * kCols + kTile)});
  }
}

/// Packs 32 k of `rows` rows of A, as two tiles. Rows after the first `rows`, and k after the first `depth`, are zero.
template <class From>
void pack_rows_of_a(const From* from, index ld, index rows, index depth, std::uint32_t* to) {
  for (index row = 0; row < kRows; ++row) {
    simd::store(to + row * kStepWords, row < rows ? words_of_row(from + row * ld, depth) : Words{});
  }
}
/// Packs them from A transposed.
template <class From>
void pack_columns_of_a(const From* from, index ld, index rows, index depth, std::uint32_t* to) {
  Words upper[kTile], lower[kTile];
  for_columns_of_words(from, ld, rows, depth, [&](index word, WordPair words) {
    upper[word] = words.left;
    lower[word] = words.right;
  });
  transpose(upper);
  transpose(lower);
  for (index row = 0; row < kTile; ++row) {
    simd::store(to + row * kStepWords, upper[row]);
    simd::store(to + (kTile + row) * kStepWords, lower[row]);
  }
}

/// Packs 32 k of `cols` columns of B, as two adjacent tiles.
template <class From>
void pack_columns_of_b(const From* from, index ld, index cols, index depth, std::uint32_t* to) {
  for_columns_of_words(from, ld, cols, depth, [&](index word, WordPair words) {
    simd::store(to + word * kCols, words.left);
    simd::store(to + word * kCols + kTile, words.right);
  });
}
/// Packs them from B transposed.
template <class From>
void pack_rows_of_b(const From* from, index ld, index cols, index depth, std::uint32_t* to) {
  constexpr index kAhead = 4 * kStep;
  for (index tile = 0; tile < kCols; tile += kTile) {
    Words words[kTile] = {};
    for (index row = tile; row < std::min(cols, tile + kTile); ++row) {
      const From* at = from + row * ld;
      words[row - tile] = words_of_row(at, depth);
      __builtin_prefetch(at + kAhead);
      __builtin_prefetch(at + kAhead + kStep / 2);
    }
    transpose(words);
    for (index word = 0; word < kStepWords; ++word) {
      simd::store(to + word * kCols + tile, words[word]);
    }
  }
}

}  // namespace dikkat::kernels::amx
