#include "autograd/kernels/gemm_amx.h"

// cmake gives this source the compiler's options for AMX (clang 14 spells the second name). Without AVX-512 with bf16, the product is never
// called.
#if defined(__AVX512BF16__)
#if !defined(__AMX_BF16__) && !defined(__AMXBF16__)
#error "gemm_amx.cpp is compiled without -mamx-bf16, expected it wherever kernels may choose AMX"
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <immintrin.h>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/packed_panels.h"

// C = A B by the eight tile registers of AMX: four hold 2 x 2 tiles of C, two hold tiles of A and two of B. A tile has 16 rows of 64 bytes.
// One of A is 16 rows of 32 k; one of B is 16 words of k, two k each, of 16 columns.
//
// A strip is 32 rows of A and C, a panel 32 columns of B and C, and a group some adjacent panels. A thread packs B of a group into its own
// memory, so that it stays in L2, and multiplies strip after strip by it. Within a strip, a part of k at a time is multiplied by all panels
// of the group: this part of A stays in L1, and the next part is fetched meanwhile. Between the parts of a block of k, sums are in the
// thread's memory; between blocks they are in C, unless C is bf16. A is read in place, or packed for all threads if it is transposed or
// must be rounded.
//
// Threads get equal numbers of strips, group after group. An element's bits depend only on k, because the products of 32 k are added to C
// at once.
namespace dikkat::kernels {
namespace {

constexpr index kTile = 16;               // rows of a tile, and its columns of C
constexpr index kStep = 32;               // k of a tile
constexpr index kRows = 2 * kTile;        // of a strip
constexpr index kCols = 2 * kTile;        // of a panel
constexpr index kStepWords = kStep / 2;   // of a column of B
constexpr index kTileBytes = 1024;        // of a whole tile
constexpr index kPartDepth = 256;         // of a part of k, at most: A and B of a strip and a panel are two thirds of L1
constexpr index kMostDepth = 1536;        // of a block of k for which B is packed
constexpr index kGroupBytes = 960 << 10;  // of B of a group, about: half of L2
constexpr index kLowerGroup = 4;          // panels of a group if only elements below the diagonal are computed
constexpr index kPackedAtOnce = 3 << 20;  // elements of A that are packed for all threads, about
constexpr index kSumsOfStrips = 64;       // strips whose sums over blocks of k a thread keeps, at most
constexpr double kFaster = 8;             // multiply-adds that take as long as one of f32

using Words = simd::Vec<std::uint32_t>;

/// gcc's intrinsics do not say which memory they read: call this before them. `written` is what was written for them, if it is a local
/// variable.
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
      _tile_release();
    }
  }
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

/// Where the tiles of A of a strip lie: bytes from row to row, from the first tile to that 16 rows below, and to that of the next 32 k.
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
/// reference: a copy on the stack is read in wider pieces than it was written in, and such a read waits until all tiles before it are
/// stored.
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
constexpr MultiplyTiles kMultiply[2][2] = {{multiply_tiles<1, 1>, multiply_tiles<1, 2>}, {multiply_tiles<2, 1>, multiply_tiles<2, 2>}};

/// The rows of a tile of words become its columns.
void transpose(Words (&rows)[kTile]) {
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

/// 32 numbers that follow each other, as words.
Words words_of_row(const float* from) { return reinterpret_cast<Words>(_mm512_cvtne2ps_pbh(simd::load(from + kTile), simd::load(from))); }
Words words_of_row(const bf16* from) { return simd::load(reinterpret_cast<const std::uint32_t*>(from)); }
/// As above, for the first `count` of them; the others are zero.
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
WordPair words_of_columns(const float* upper, const float* lower) {
  return {simd::bf16_words(simd::load(upper), simd::load(lower)), simd::bf16_words(simd::load(upper + kTile), simd::load(lower + kTile))};
}
WordPair words_of_columns(const bf16* upper, const bf16* lower) {
  typedef std::uint16_t Halves __attribute__((vector_size(simd::kBytes)));
  const auto a = reinterpret_cast<Halves>(words_of_row(upper)), b = reinterpret_cast<Halves>(words_of_row(lower));
  return {reinterpret_cast<Words>(__builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10,
                                                          42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47)),
          reinterpret_cast<Words>(__builtin_shufflevector(a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25,
                                                          57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63))};
}

/// Calls put(word, words) for the 16 words of `depth` rows of 32 columns. Columns and rows from `count` and `depth` on are zero. Fetches
/// the next 32 rows.
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

/// Packs 32 k of `rows` rows of A, as two tiles. Rows and k from `rows` and `depth` on are zero.
template <class From>
void pack_rows_of_a(const From* from, index ld, index rows, index depth, std::uint32_t* to) {
  for (index row = 0; row < kRows; ++row) {
    simd::store(to + row * kStepWords, row < rows ? words_of_row(from + row * ld, depth) : Words{});
  }
}
/// As above, from A transposed.
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

/// Packs 32 k of `cols` columns of B, as two tiles beside each other.
template <class From>
void pack_columns_of_b(const From* from, index ld, index cols, index depth, std::uint32_t* to) {
  for_columns_of_words(from, ld, cols, depth, [&](index word, WordPair words) {
    simd::store(to + word * kCols, words.left);
    simd::store(to + word * kCols + kTile, words.right);
  });
}
/// As above, from B transposed.
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

/// A range of k.
struct Range {
  index begin, end;
  index depth() const { return end - begin; }
  index steps() const { return ceil_div(depth(), kStep); }
};

/// Calls f(range) for ranges of `depth` that cover `all`, at least once.
template <class F>
void for_ranges(Range all, index depth, F&& f) {
  for (index begin = all.begin; begin == all.begin || begin < all.end; begin += depth) {
    f(Range{begin, std::min(begin + depth, all.end)});
  }
}

/// A length of ranges, a multiple of kStep and about equal for all, of which k needs as few as possible that are no longer than `most`.
index equal_depth(index k, index most) { return std::max(kStep, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, most))), kStep)); }

/// How a product is split. Bits do not depend on it.
struct Cut {
  explicit Cut(const Bf16Gemm& p)
      : strips(ceil_div(p.m, kRows)),
        panels(ceil_div(p.n, kCols)),
        depth(equal_depth(p.k, kMostDepth)),
        part(equal_depth(std::min(p.k, depth), kPartDepth)),
        a_in_place(p.a.is_bf16() && !p.transpose_a && p.k % kStep == 0),
        rounds_c(p.c.is_bf16()),
        keeps_sums(rounds_c && p.k > depth),
        group(panels_of_group(p)),
        groups(ceil_div(panels, group)),
        panels_of_sums(depth > part ? group : 1),
        chunk_depth(a_in_place || rounds_c ? std::max<index>(p.k, 1)
                                           : depth * std::max<index>(1, kPackedAtOnce / (depth * strips * kRows))),
        chunk_strips(a_in_place ? strips : std::clamp<index>(kPackedAtOnce / (std::min(chunk_depth, p.k + kStep) * kRows), 1, strips)) {}

  /// As many panels as fit into L2, but enough groups for all threads, and groups of about equal size. If threads pack A, and each gets
  /// some strips, one group is better: a thread then multiplies the strips that it has packed, which are in its L2.
  index panels_of_group(const Bf16Gemm& p) const {
    const index most = p.lower ? kLowerGroup : kGroupBytes / (2 * kCols * depth);
    const index threads = thread_count();
    const bool divides_strips = !a_in_place && strips >= panels && strips >= 2 * threads;
    const index in_group =
        std::clamp<index>(divides_strips && panels <= most ? panels : std::min(most, ceil_div(panels, threads)), 1, panels);
    return ceil_div(panels, ceil_div(panels, in_group));
  }

  index strips, panels;
  index depth;  // of a block of k, for which B is packed
  index part;   // of a block, for which A stays in L1
  bool a_in_place;
  bool rounds_c;
  bool keeps_sums;  // C is rounded, and there are several blocks
  index group;      // panels of a group
  index groups;
  index panels_of_sums;  // whose sums a thread keeps between parts
  index chunk_depth;     // of k at a time, and
  index chunk_strips;    // strips at a time, for which A is packed
};

/// One product: what is packed for all threads, and the loops of a thread.
class Product {
 public:
  explicit Product(const Bf16Gemm& p) : p_(p), cut_(p) {}

  void compute() {
    for_ranges({0, p_.k}, cut_.chunk_depth, [&](Range chunk) {
      for (index first = 0; first < cut_.strips; first += cut_.chunk_strips) {
        const index end = std::min(first + cut_.chunk_strips, cut_.strips);
        const Scratch<std::uint32_t> packed(cut_.a_in_place ? 0 : (end - first) * chunk.steps() * kRows * kStepWords);
        a_ = packed;
        if (!cut_.a_in_place) {
          p_.a.visit([&](const auto* a) { pack_a(a, chunk, first, end); });
        }
        multiply(chunk, first, end);
      }
    });
  }

 private:
  /// A thread's memory: B of a group in a block of k, and the sums that cannot be in C.
  struct Own {
    Own(const Cut& cut, index strips)
        : b(cut.depth / kStep * kStepWords * kCols * cut.group),
          sums((cut.keeps_sums ? std::min(strips, kSumsOfStrips) : 1) * cut.panels_of_sums * kRows * kCols) {}
    Scratch<std::uint32_t> b;
    Scratch<float> sums;
  };

  std::uint32_t* packed_strip(Range chunk, index strip) const { return a_ + strip * chunk.steps() * kRows * kStepWords; }

  /// A of the strips, 32 k after 32 k: adjacent rows of A transposed are read one after another.
  template <class From>
  void pack_a(const From* a, Range chunk, index first, index end) {
    const auto work = Work::elements((end - first) * kRows * chunk.depth());
    parallel_ranges(
        end - first, work, [] {},
        [&](index from, index to) {
          constexpr index kAtOnce = 4;
          for (index some = from; some < to; some += kAtOnce) {
            for (index step = 0; step < chunk.steps(); ++step) {
              const index k = chunk.begin + step * kStep;
              const index depth = std::min(kStep, chunk.end - k);
              for (index strip = some; strip < std::min(some + kAtOnce, to); ++strip) {
                const index row = (first + strip) * kRows;
                const index rows = std::min(kRows, p_.m - row);
                std::uint32_t* packed = packed_strip(chunk, strip) + step * kRows * kStepWords;
                if (p_.transpose_a) {
                  pack_columns_of_a(a + k * p_.lda + row, p_.lda, rows, depth, packed);
                } else {
                  pack_rows_of_a(a + row * p_.lda + k, p_.lda, rows, depth, packed);
                }
              }
            }
          }
        });
  }

  std::uint32_t* panel_in(std::uint32_t* b, Range block, index panel) const { return b + panel * block.steps() * kStepWords * kCols; }

  /// Packs panels first to end - 1 of op(B).
  void pack_b(index first, index end, Range block, std::uint32_t* to) const {
    if (p_.packed_b == nullptr) {
      p_.b.visit([&](const auto* b) { pack_b_of(b, first, end, block, to); });
      return;
    }
    for (index panel = first; panel < end; ++panel) {
      std::uint32_t* const words = panel_in(to, block, panel - first);
      if (p_.transpose_b) {
        unpack_panels<kCols>(*p_.packed_b, panel * kCols, block.begin, block.end, words);
      } else {
        unpack_rows<kCols>(*p_.packed_b, panel * kCols, block.begin, block.end, words);
      }
      std::fill(words + words_of<bf16>(block.depth()) * kCols, words + block.steps() * kStepWords * kCols, 0U);
    }
  }
  template <class From>
  void pack_b_of(const From* b, index first, index end, Range block, std::uint32_t* to) const {
    const auto pack = [&](index panel, index step) {
      const index k = block.begin + step * kStep, col = panel * kCols;
      const index depth = std::min(kStep, block.end - k), cols = std::min(kCols, p_.n - col);
      std::uint32_t* const words = panel_in(to, block, panel - first) + step * kStepWords * kCols;
      if (p_.transpose_b) {
        pack_rows_of_b(b + col * p_.ldb + k, p_.ldb, cols, depth, words);
      } else {
        pack_columns_of_b(b + k * p_.ldb + col, p_.ldb, cols, depth, words);
      }
    };
    // Read along the rows of B.
    for (index panel = first; panel < end && p_.transpose_b; ++panel) {
      for (index step = 0; step < block.steps(); ++step) {
        pack(panel, step);
      }
    }
    for (index step = 0; step < block.steps() && !p_.transpose_b; ++step) {
      for (index panel = first; panel < end; ++panel) {
        pack(panel, step);
      }
    }
  }

  void multiply(Range chunk, index first, index end) const {
    const index most = end - first;
    auto on_thread = [&] { const Own asked(cut_, most); };
    const double products = Work::products(std::min((end - first) * kRows, p_.m), p_.n, chunk.depth()).multiply_adds;
    const Work work{products / kFaster + Work::elements(p_.n * chunk.depth()).multiply_adds / kFaster};
    // The strips of all groups are numbered one after another, and the threads get equal ranges of them.
    const auto first_strip = [&](index group) {  // those before lie above the diagonal
      return p_.lower ? std::clamp(group * cut_.group * kCols / kRows, first, end) : first;
    };
    index all = 0;
    for (index group = 0; group < cut_.groups; ++group) {
      all += end - first_strip(group);
    }
    parallel_ranges(all, work, on_thread, [&](index from, index to) {
      const Own own(cut_, most);
      TileRegisters registers;
      for (index group = 0, before = 0; before < to && group < cut_.groups; ++group) {
        const index size = end - first_strip(group);
        const index begin = first_strip(group) + std::clamp<index>(from - before, 0, size);
        const index stop = first_strip(group) + std::clamp<index>(to - before, 0, size);
        if (begin < stop) {
          multiply_group(chunk, first, begin, stop, group * cut_.group, own, registers);
        }
        before += size;
      }
    });
  }

  /// Strips begin to end - 1 times the group of panels from `panel` on.
  void multiply_group(Range chunk, index chunk_first, index begin, index end, index panel, const Own& own, TileRegisters& registers) const {
    const index panels_end = std::min(panel + cut_.group, cut_.panels);
    const index strips_at_once = cut_.keeps_sums ? kSumsOfStrips : end - begin;
    for (index first = begin; first < end; first += strips_at_once) {
      const index stop = std::min(first + strips_at_once, end);
      for_ranges(chunk, cut_.depth, [&](Range block) {
        pack_b(panel, panels_end, block, own.b);
        for (index strip = first; strip < stop; ++strip) {
          float* sums = own.sums + (cut_.keeps_sums ? (strip - first) * cut_.panels_of_sums * kRows * kCols : 0);
          multiply_strip(chunk, block, strip, chunk_first, strip + 1 < stop, panel, panels_end, own.b, sums, registers);
        }
      });
    }
  }

  void multiply_strip(Range chunk, Range block, index strip, index chunk_first, bool has_next, index panel, index panels_end,
                      std::uint32_t* b, float* sums, TileRegisters& registers) const {
    const index row = strip * kRows;
    const index rows = std::min(kRows, p_.m - row);
    registers.configure(rows);
    for_ranges(block, cut_.part, [&](Range part) {
      const bool begins = part.begin == (cut_.keeps_sums ? 0 : block.begin), ends = part.end == (cut_.keeps_sums ? p_.k : block.end);
      const TilesOfA a = tiles_of_a(chunk, part, strip, chunk_first);
      Ahead ahead = next_part(chunk, block, part, strip, chunk_first, has_next, panels_end - panel);
      for (index at = panel; at < panels_end; ++at, ahead.line += ahead.in_step * part.steps()) {
        const index col = at * kCols;
        if (p_.lower && col >= row + rows) {
          break;  // it lies above the diagonal
        }
        const index cols = std::min(kCols, p_.n - col);
        const std::uint32_t* tiles = panel_in(b, block, at - panel) + (part.begin - block.begin) / 2 * kCols;
        const auto multiply = kMultiply[rows > kTile ? 1 : 0][cols > kTile ? 1 : 0];
        const bool is_direct = !cut_.rounds_c && cols % kTile == 0;  // tiles are read from C and written to it
        float* own = sums + (cut_.panels_of_sums > 1 ? (at - panel) * kRows * kCols : 0);
        Base base{own, kCols * 4};
        if (begins) {
          base = p_.c.visit([&](auto* c) { return base_of(part, rows, cols, col, c + row * p_.ldc + col, is_direct, own); });
        }
        if (is_direct && ends) {
          multiply(part.steps(), a, tiles, base, p_.c.as_f32() + row * p_.ldc + col, p_.ldc * 4, ahead);
        } else {
          multiply(part.steps(), a, tiles, base, own, kCols * 4, ahead);
          if (ends) {
            p_.c.visit([&](auto* c) { put_sums(own, rows, cols, c + row * p_.ldc + col); });
          }
        }
      }
    });
  }

  TilesOfA tiles_of_a(Range chunk, Range part, index strip, index chunk_first) const {
    if (cut_.a_in_place) {
      const bf16* at = p_.a.as_bf16() + strip * kRows * p_.lda + part.begin;
      return {reinterpret_cast<const std::byte*>(at), 2 * p_.lda, 2 * kTile * p_.lda, 2 * kStep};
    }
    const std::uint32_t* at = packed_strip(chunk, strip - chunk_first) + (part.begin - chunk.begin) / 2 * kRows;
    return {reinterpret_cast<const std::byte*>(at), 2 * kStep, kTileBytes, 2 * kTileBytes};
  }
  /// The part of A that is multiplied after this one, of which each step with `panels` panels fetches its share.
  Ahead next_part(Range chunk, Range block, Range part, index strip, index chunk_first, bool has_next, index panels) const {
    const bool same_strip = part.end < block.end;
    if (!same_strip && !has_next) {
      return {{}, 0, 0};
    }
    const index begin = same_strip ? part.end : block.begin;
    const Range next{begin, std::min(begin + cut_.part, block.end)};
    return {tiles_of_a(chunk, next, same_strip ? strip : strip + 1, chunk_first), 0,
            ceil_div(kRows * next.steps(), std::max<index>(1, panels * part.steps()))};
  }

  /// Returns where the numbers lie that the sums of a part are added to. They are in `c` if it `is_direct`, in the bias, or in `sums`, to
  /// which this copies them.
  template <class C>
  Base base_of(Range part, index rows, index cols, index col, const C* c, bool is_direct, float* sums) const {
    const bool adds = part.begin > 0 || p_.add;
    const float* bias = part.begin == 0 && p_.bias != nullptr ? p_.bias + col : nullptr;
    if (!adds && (bias == nullptr || cols % kTile == 0)) {
      return {bias, 0};
    }
    if constexpr (std::is_same_v<C, float>) {
      if (is_direct && bias == nullptr) {
        return {c, p_.ldc * 4};
      }
    }
    for (index i = 0; i < rows; ++i, c += p_.ldc) {
      float* to = sums + i * kCols;
      for (index j = 0; j < cols && adds; ++j) {
        to[j] = static_cast<float>(to_computed(c[j]));
      }
      for (index j = 0; j < cols && bias != nullptr; ++j) {
        to[j] = adds ? to[j] + bias[j] : bias[j];
      }
    }
    return {sums, kCols * 4};
  }

  void put_sums(const float* sums, index rows, index cols, float* c) const {
    for (index i = 0; i < rows; ++i) {
      std::copy_n(sums + i * kCols, cols, c + i * p_.ldc);
    }
  }
  void put_sums(const float* sums, index rows, index cols, bf16* c) const {
    for (index i = 0; i < rows; ++i, sums += kCols, c += p_.ldc) {
      if (cols == kCols) {
        simd::store(reinterpret_cast<std::uint32_t*>(c), words_of_row(sums));
      } else {
        round_row(sums, cols, c);
      }
    }
  }

  const Bf16Gemm& p_;
  Cut cut_;
  std::uint32_t* a_ = nullptr;  // A packed, of one chunk
};

}  // namespace

void gemm_amx(const Bf16Gemm& p) {
  if (p.m > 0 && p.n > 0) {
    Product(p).compute();
  }
}

}  // namespace dikkat::kernels

#else

namespace dikkat::kernels {

void gemm_amx(const Bf16Gemm&) {}

}  // namespace dikkat::kernels

#endif
