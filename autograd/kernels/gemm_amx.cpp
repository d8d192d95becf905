#include "autograd/kernels/gemm_amx.h"

// cmake gives this source the compiler's options for AMX. Elsewhere the product is never called.
#if defined(__AMX_BF16__) && defined(__AVX512BF16__)

#include <algorithm>
#include <cstring>

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
// of the group: this part of A stays in L1. Sums between the parts are in C. A is read in place, or packed for all threads if it is
// transposed or must be rounded.
//
// Threads get equal numbers of strips, group after group. An element's bits depend only on k, because a tile of 32 k is added to C as it is.
namespace dikkat::kernels {
namespace {

constexpr index kTile = 16;                // rows of a tile, and its columns of C
constexpr index kStep = 32;                // k of a tile
constexpr index kRows = 2 * kTile;         // of a strip
constexpr index kCols = 2 * kTile;         // of a panel
constexpr index kStepWords = kStep / 2;    // of a column of B
constexpr index kTileBytes = 1024;         // of a whole tile
constexpr index kPartSteps = 16;           // of a part of k, at most: 32 rows of A are 32 KiB, two thirds of L1
constexpr index kMostDepth = 6144;         // of a block of k for which B is packed, about
constexpr index kGroupBytes = 640 << 10;   // of B of a group, about: a third of L2
constexpr index kPackedAtOnce = 3 << 20;   // elements of A that are packed for all threads, about
constexpr double kFaster = 8;              // multiply-adds that take as long as one of f32

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

/// What a tile's sums are added to: rows `row_bytes` apart (0: the same row for all), or nothing.
struct Base {
  const float* at;
  index row_bytes;
};

// gcc's intrinsics do not say that they read memory.
inline void finish_stores() { __asm__ volatile("" ::: "memory"); }

/// c (kRowTiles x kColTiles tiles) = base + a b, for `steps` tiles of k. b is a panel.
template <int kRowTiles, int kColTiles>
void multiply_tiles(index steps, TilesOfA a, const std::uint32_t* b, Base base, float* c, index c_bytes) {
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
  for (index step = 0; step < steps; ++step, a.at += a.next, b += kStepWords * kCols) {
    _tile_loadd(6, b, kPanelBytes);
    _tile_loadd(4, a.at, a.row);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kBelow) {
      _tile_loadd(5, a.at + a.below, a.row);
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

/// to (16, 16) = from (16, 16) transposed.
void transpose_words(const std::uint32_t* from, std::uint32_t* to) {
  for (index i = 0; i < kTile; i += kTransposeSize) {
    for (index j = 0; j < kTile; j += kTransposeSize) {
      transpose_block(from + i * kTile + j, kTile, kTransposeSize, to + j * kTile + i, kTile);
    }
  }
}

/// Packs 32 k of some rows of A, as one or two tiles. Rows and k from `rows` and `depth` on are zero.
template <class From>
void pack_rows_of_a(const From* from, index ld, index rows, index depth, bf16* to) {
  for (index row = 0; row < kRows; ++row, to += kStep) {
    const index count = row < rows ? depth : 0;
    if (count > 0) {
      round_row(from + row * ld, count, to);
    }
    std::fill_n(to + count, kStep - count, bf16{0});
  }
}
/// As above, from A transposed.
template <class From>
void pack_columns_of_a(const From* from, index ld, index rows, index depth, bf16* to) {
  const index words = words_of<bf16>(depth);
  for (index tile = 0; tile < 2; ++tile, to += kTileBytes / 2) {
    std::uint32_t columns[kStepWords * kTile];
    pack_columns<kTile>(from + tile * kTile, ld, std::clamp<index>(rows - tile * kTile, 0, kTile), depth, columns);
    std::fill(columns + words * kTile, std::end(columns), 0U);
    transpose_words(columns, reinterpret_cast<std::uint32_t*>(to));
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
index equal_depth(index k, index most) {
  return std::max(kStep, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, most))), kStep));
}

/// How a product is split. Bits do not depend on it.
struct Cut {
  explicit Cut(const Bf16Gemm& p)
      : strips(ceil_div(p.m, kRows)),
        panels(ceil_div(p.n, kCols)),
        depth(equal_depth(p.k, kMostDepth)),
        part(equal_depth(std::min(p.k, depth), kPartSteps * kStep)),
        a_in_place(p.a.is_bf16() && !p.transpose_a && p.k % kStep == 0),
        rounds_c(p.c.is_bf16()),
        keeps_sums(rounds_c && p.k > depth),
        group(keeps_sums || p.lower
                  ? 1
                  : std::clamp<index>(std::min(kGroupBytes / (2 * kCols * depth), ceil_div(panels, thread_count())), 1, panels)),
        groups(ceil_div(panels, group)),
        chunk_depth(a_in_place || rounds_c ? std::max<index>(p.k, 1)
                                           : depth * std::max<index>(1, kPackedAtOnce / (depth * strips * kRows))),
        chunk_strips(a_in_place ? strips : std::clamp<index>(kPackedAtOnce / (std::min(chunk_depth, p.k + kStep) * kRows), 1, strips)) {}

  index strips, panels;
  index depth;  // of a block of k, for which B is packed
  index part;   // of a block, for which A stays in L1
  bool a_in_place;
  bool rounds_c;
  bool keeps_sums;     // C is rounded, and the sums of one block are not the last
  index group;         // panels of a group
  index groups;
  index chunk_depth;   // of k at a time, and
  index chunk_strips;  // strips at a time, for which A is packed
};

/// One product: what is packed for all threads, and the loops of a thread.
class Product {
 public:
  explicit Product(const Bf16Gemm& p) : p_(p), cut_(p) {}

  void compute() {
    for_ranges({0, p_.k}, cut_.chunk_depth, [&](Range chunk) {
      for (index first = 0; first < cut_.strips; first += cut_.chunk_strips) {
        const index end = std::min(first + cut_.chunk_strips, cut_.strips);
        const Scratch<bf16> packed(cut_.a_in_place ? 0 : (end - first) * chunk.steps() * kRows * kStep);
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
        : b(ceil_div(cut.depth, kStep) * kStepWords * kCols * cut.group),
          sums((cut.keeps_sums ? strips : 1) * (cut.rounds_c ? cut.group : 1) * kRows * kCols) {}
    Scratch<std::uint32_t> b;
    Scratch<float> sums;
  };

  bf16* packed_strip(Range chunk, index strip) const { return a_ + strip * chunk.steps() * kRows * kStep; }

  /// A of the strips, 32 k after 32 k: adjacent rows of A transposed are read one after another.
  template <class From>
  void pack_a(const From* a, Range chunk, index first, index end) {
    const auto work = Work::elements((end - first) * kRows * chunk.depth());
    parallel_ranges(
        end - first, work, [] {},
        [&](index from, index to) {
          constexpr index kAtOnce = 4;  // with more, strips' memory for 32 k could be in the same sets of the cache
          for (index some = from; some < to; some += kAtOnce) {
            for (index step = 0; step < chunk.steps(); ++step) {
              const index k = chunk.begin + step * kStep;
              const index depth = std::min(kStep, chunk.end - k);
              for (index strip = some; strip < std::min(some + kAtOnce, to); ++strip) {
                const index row = (first + strip) * kRows;
                const index rows = std::min(kRows, p_.m - row);
                bf16* packed = packed_strip(chunk, strip) + step * kRows * kStep;
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
    if (p_.packed_b == nullptr && !p_.transpose_b) {
      p_.b.visit([&](const auto* b) { pack_columns_of_b(b, first, end, block, to); });
      return;
    }
    for (index panel = first; panel < end; ++panel) {
      std::uint32_t* const words = panel_in(to, block, panel - first);
      const index col = panel * kCols;
      if (p_.packed_b == nullptr) {
        p_.b.visit([&](const auto* b) {
          pack_rows<kCols>(b + col * p_.ldb + block.begin, p_.ldb, std::min(kCols, p_.n - col), block.depth(), words);
        });
      } else if (p_.transpose_b) {
        unpack_panels<kCols>(*p_.packed_b, col, block.begin, block.end, words);
      } else {
        unpack_rows<kCols>(*p_.packed_b, col, block.begin, block.end, words);
      }
      std::fill(words + words_of<bf16>(block.depth()) * kCols, words + block.steps() * kStepWords * kCols, 0U);
    }
  }
  /// Packs B that is not transposed 32 k at a time: rows are read across the group.
  template <class From>
  void pack_columns_of_b(const From* b, index first, index end, Range block, std::uint32_t* to) const {
    for (index step = 0; step < block.steps(); ++step) {
      const index k = block.begin + step * kStep;
      const index depth = std::min(kStep, block.end - k);
      for (index panel = first; panel < end; ++panel) {
        std::uint32_t* const words = panel_in(to, block, panel - first) + step * kStepWords * kCols;
        const index col = panel * kCols;
        pack_columns<kCols>(b + k * p_.ldb + col, p_.ldb, std::min(kCols, p_.n - col), depth, words);
        std::fill(words + words_of<bf16>(depth) * kCols, words + kStepWords * kCols, 0U);
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
    for_ranges(chunk, cut_.depth, [&](Range block) {
      pack_b(panel, panels_end, block, own.b);
      for (index strip = begin; strip < end; ++strip) {
        float* sums = own.sums + (cut_.keeps_sums ? (strip - begin) * kRows * kCols : 0);
        multiply_strip(chunk, block, strip, strip - chunk_first, panel, panels_end, own.b, sums, registers);
      }
    });
  }

  void multiply_strip(Range chunk, Range block, index strip, index packed, index panel, index panels_end, std::uint32_t* b, float* sums,
                      TileRegisters& registers) const {
    const index row = strip * kRows;
    const index rows = std::min(kRows, p_.m - row);
    registers.configure(rows);
    for_ranges(block, cut_.part, [&](Range part) {
      const TilesOfA a = tiles_of_a(chunk, part, row, packed);
      for (index at = panel; at < panels_end; ++at) {
        const index col = at * kCols;
        if (p_.lower && col >= row + rows) {
          break;  // it lies above the diagonal
        }
        const index cols = std::min(kCols, p_.n - col);
        const std::uint32_t* tiles = panel_in(b, block, at - panel) + (part.begin - block.begin) / 2 * kCols;
        const auto multiply = kMultiply[rows > kTile ? 1 : 0][cols > kTile ? 1 : 0];
        float* own = sums + (cut_.rounds_c ? (at - panel) * kRows * kCols : 0);
        if (!cut_.rounds_c && (cols == kCols || cols == kTile)) {
          float* c = p_.c.as_f32() + row * p_.ldc + col;
          multiply(part.steps(), a, tiles, base_in_c(part, rows, cols, col, c), c, p_.ldc * 4);
        } else {
          const bool has_base = part.begin > 0 || p_.add || p_.bias != nullptr;
          if (part.begin == 0 || (!cut_.rounds_c && part.begin == block.begin)) {
            p_.c.visit([&](const auto* c) { copy_base(part, rows, cols, col, c + row * p_.ldc + col, own); });
          }
          multiply(part.steps(), a, tiles, {has_base ? own : nullptr, kCols * 4}, own, kCols * 4);
          if (part.end == (cut_.rounds_c ? p_.k : block.end)) {
            p_.c.visit([&](auto* c) { put_sums(own, rows, cols, c + row * p_.ldc + col); });
          }
        }
      }
    });
  }

  TilesOfA tiles_of_a(Range chunk, Range part, index row, index packed) const {
    if (cut_.a_in_place) {
      const bf16* at = p_.a.as_bf16() + row * p_.lda + part.begin;
      return {reinterpret_cast<const std::byte*>(at), 2 * p_.lda, 2 * kTile * p_.lda, 2 * kStep};
    }
    const bf16* at = packed_strip(chunk, packed) + (part.begin - chunk.begin) * kRows;
    return {reinterpret_cast<const std::byte*>(at), 2 * kStep, kTileBytes, 2 * kTileBytes};
  }

  /// What the sums of this part are added to if they are stored in C.
  Base base_in_c(Range part, index rows, index cols, index col, float* c) const {
    if (part.begin == 0 && p_.bias != nullptr) {
      if (!p_.add) {
        return {p_.bias + col, 0};
      }
      for (index i = 0; i < rows; ++i) {
        for (index j = 0; j < cols; ++j) {
          c[i * p_.ldc + j] += p_.bias[col + j];
        }
      }
    }
    return {part.begin > 0 || p_.add ? c : nullptr, p_.ldc * 4};
  }
  /// The same, to a thread's own sums.
  template <class C>
  void copy_base(Range part, index rows, index cols, index col, const C* c, float* sums) const {
    const bool adds = part.begin > 0 || p_.add;
    const bool has_bias = part.begin == 0 && p_.bias != nullptr;
    for (index i = 0; i < rows && (adds || has_bias); ++i) {
      for (index j = 0; j < cols; ++j) {
        const float bias = has_bias ? p_.bias[col + j] : 0.0F;
        const float before = adds ? static_cast<float>(to_computed(c[i * p_.ldc + j])) : 0.0F;
        sums[i * kCols + j] = adds && has_bias ? before + bias : adds ? before : bias;
      }
    }
  }

  void put_sums(const float* sums, index rows, index cols, float* c) const {
    for (index i = 0; i < rows; ++i) {
      std::copy_n(sums + i * kCols, cols, c + i * p_.ldc);
    }
  }
  void put_sums(const float* sums, index rows, index cols, bf16* c) const {
    for (index i = 0; i < rows; ++i) {
      round_row(sums + i * kCols, cols, c + i * p_.ldc);
    }
  }

  const Bf16Gemm& p_;
  Cut cut_;
  bf16* a_ = nullptr;  // A packed, of one chunk
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
