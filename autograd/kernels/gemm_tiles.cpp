#include "autograd/kernels/gemm_tiles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/transpose_block.h"

// C = A B by tiles that stay in registers (Goto and van de Geijn 2008). A panel is kCols columns of C. Each thread computes an equal number
// of tiles, panel after panel, and packs its part of B for each panel. Threads share nothing but A: a thread would wait long for what
// another has just written. A is read in place, or packed for all threads if it is transposed. Neither A transposed nor B as it is needs
// packing where it fits into L2: then it is read in place too.
//
// An element of C is base + s_1 + s_2 + ..., added in this order, where the base is the bias, the previous C, or nothing; and s_i is the
// sum over the i-th block of k, from zero, one fused multiply-add after the other. Blocks depend on k alone, so the bits of an element
// depend on nothing else (reference/gemm.h: gemm_in_blocks()).
namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int kRows = simd::kBytes == 64 ? 8 : 6;     // of a tile: with kVectors sums each they fill the registers
constexpr int kVectors = simd::kBytes == 64 ? 3 : 2;  // of a tile's row
constexpr index kCols = kVectors * kLanes<float>;     // of a tile, and of a panel of B
constexpr index kPackedAtOnce = 3 << 20;              // elements of A that are packed for all threads, about
constexpr index kInPlace = 1 << 19;                   // elements of A or B that are read in place whatever their order, at most
constexpr index kFewPanels = 8;                       // with fewer, threads share the rows of C and not its panels

/// How a product is split. Depends on the shape alone.
struct Cut {
  explicit Cut(const Gemm<float>& p)
      : depth(gemm_block_depth(p.k)),
        panels(ceil_div(p.n, kCols)),
        tiles(ceil_div(p.m, index{kRows})),
        packs_a(p.transpose_a && p.k * p.m > kInPlace),
        packs_b(p.transpose_b || p.k * p.n > kInPlace || p.n % kLanes<float> != 0),
        by_rows(!p.lower && (!packs_b || panels < kFewPanels || (packs_a && p.m >= p.n))),
        chunk_depth(packs_a ? depth * std::max<index>(1, kPackedAtOnce / (depth * tiles * kRows)) : std::max<index>(p.k, 1)),
        chunk_tiles(packs_a ? std::clamp<index>(kPackedAtOnce / (std::min(chunk_depth, p.k) * kRows), 1, tiles) : tiles) {}

  index depth;   // of a block of k
  index panels;  // of kCols columns
  index tiles;   // of kRows rows
  bool packs_a, packs_b;
  bool by_rows;       // threads share the tiles of all panels, or else the panels
  index chunk_depth;  // of k at a time, and
  index chunk_tiles;  // tiles at a time, for which A is packed
};

/// to (depth, kCols) = kCols rows of `from` transposed, k from 0 to depth; rows from `count` on are zero.
void pack_rows(const float* from, index ld, index count, index depth, float* to) {
  index k = 0;
  for (; k + kTransposeSize <= depth; k += kTransposeSize) {
    for (index group = 0; group < kCols; group += kTransposeSize) {
      const index rows = std::clamp<index>(count - group, 0, kTransposeSize);
      transpose_block(from + std::min(group, count) * ld + k, ld, rows, to + k * kCols + group, kCols);
    }
  }
  for (; k < depth; ++k) {
    for (index row = 0; row < kCols; ++row) {
      to[k * kCols + row] = row < count ? from[row * ld + k] : 0.0F;
    }
  }
}

/// to (depth, kWidth) = kWidth columns of `from`, rows 0 to depth; columns from `count` on are zero.
template <index kWidth>
void pack_columns(const float* from, index ld, index count, index depth, float* to) {
  for (index k = 0; k < depth; ++k) {
    if (count == kWidth) {
      std::memcpy(to + k * kWidth, from + k * ld, kWidth * sizeof(float));
    } else {
      std::copy_n(from + k * ld, count, to + k * kWidth);
      std::fill_n(to + k * kWidth + count, kWidth - count, 0.0F);
    }
  }
}

/// Panel `panel` of op(B), k from `begin` to `end`: to (end - begin, kCols).
void pack_b(const Gemm<float>& p, index panel, index begin, index end, float* to) {
  const index first = panel * kCols;
  const index count = std::min(kCols, p.n - first);
  if (p.transpose_b) {
    pack_rows(p.b + first * p.ldb + begin, p.ldb, count, end - begin, to);
  } else {
    pack_columns<kCols>(p.b + begin * p.ldb + first, p.ldb, count, end - begin, to);
  }
}

/// What a tile adds its sums to.
enum class Base { nothing, bias, previous };

/// c (kUsedRows, kUsed vectors), rows ldc apart, = base + a b. a is kUsedRows rows of A, lda apart; or, if kByColumns, rows of A
/// transposed, where the next k is lda further. b is rows ldb apart.
template <bool kByColumns, int kUsedRows, int kUsed>
void multiply_tile(index depth, const float* a, index lda, const float* b, index ldb, Base base, const float* bias, float* c, index ldc) {
  for (index row = 0; row < kUsedRows; ++row) {
    for (int v = 0; v < kUsed; ++v) {
      __builtin_prefetch(c + row * ldc + v * kLanes<float>, 1);
    }
  }
  Vec<float> sums[kUsedRows][kUsed] = {};
  for (index k = 0; k < depth; ++k, a += kByColumns ? lda : 1, b += ldb) {
    Vec<float> bs[kUsed];
    for (int v = 0; v < kUsed; ++v) {
      bs[v] = simd::load(b + v * kLanes<float>);
    }
    for (index row = 0; row < kUsedRows; ++row) {
      const Vec<float> as = simd::broadcast(a[kByColumns ? row : row * lda]);
      for (int v = 0; v < kUsed; ++v) {
        sums[row][v] = simd::fused_multiply_add(as, bs[v], sums[row][v]);
      }
    }
  }
  const auto put = [&](auto&& value) {
    for (index row = 0; row < kUsedRows; ++row) {
      for (int v = 0; v < kUsed; ++v) {
        float* at = c + row * ldc + v * kLanes<float>;
        simd::store(at, value(at, v, sums[row][v]));
      }
    }
  };
  switch (base) {
    case Base::nothing: put([](const float*, int, Vec<float> sum) { return sum; }); break;
    case Base::bias: put([&](const float*, int v, Vec<float> sum) { return simd::load(bias + v * kLanes<float>) + sum; }); break;
    case Base::previous: put([](const float* at, int, Vec<float> sum) { return simd::load(at) + sum; }); break;
  }
}

using MultiplyTile = decltype(&multiply_tile<true, 1, 1>);
/// multiply_tile() for each number of rows and vectors: [rows - 1][vectors - 1].
template <bool kByColumns, std::size_t... kAt>
constexpr std::array<std::array<MultiplyTile, kVectors>, kRows> tile_functions(std::index_sequence<kAt...>) {
  std::array<std::array<MultiplyTile, kVectors>, kRows> functions{};
  ((functions[kAt / kVectors][kAt % kVectors] = multiply_tile<kByColumns, kAt / kVectors + 1, kAt % kVectors + 1>), ...);
  return functions;
}
constexpr auto kMultiplyColumns = tile_functions<true>(std::make_index_sequence<kRows * kVectors>());
constexpr auto kMultiplyRows = tile_functions<false>(std::make_index_sequence<kRows * kVectors>());

/// A block of k.
struct Block {
  index begin, end;
  index depth() const { return end - begin; }
};

/// Rows of a matrix, in place or packed.
struct Rows {
  const float* at;
  index apart;
};

/// One product: what is packed for all tasks, and the loops of a task.
class Product {
 public:
  explicit Product(const Gemm<float>& p) : p_(p), cut_(p) {}

  void compute() {
    for (index begin = 0; begin == 0 || begin < p_.k; begin += cut_.chunk_depth) {
      const Block chunk{begin, std::min(begin + cut_.chunk_depth, p_.k)};
      for (index first = 0; first < cut_.tiles; first += cut_.chunk_tiles) {
        const index end = std::min(first + cut_.chunk_tiles, cut_.tiles);
        const Scratch<float> tiles(cut_.packs_a ? (end - first) * kRows * chunk.depth() : 0);
        a_ = tiles;
        if (cut_.packs_a) {
          pack_tiles(chunk, first, end);
        }
        multiply(chunk, first, end);
      }
    }
  }

 private:
  /// This thread's memory for a panel of B.
  struct OwnPanel : Scratch<float> {
    explicit OwnPanel(const Cut& cut) : Scratch(cut.packs_b ? cut.depth * kCols : 0) {}
  };

  template <class F>
  void for_blocks(Block chunk, F&& f) const {
    for (index begin = chunk.begin; begin == chunk.begin || begin < chunk.end; begin += cut_.depth) {
      f(Block{begin, std::min(begin + cut_.depth, chunk.end)});
    }
  }
  float* packed_tile(Block chunk, Block block, index tiles, index tile) const {
    return a_ + ((block.begin - chunk.begin) * tiles + tile * block.depth()) * kRows;
  }

  /// By the same threads that multiply these tiles if they share the tiles. Two tiles at a time, whose columns of A lie in the same cache
  /// lines.
  void pack_tiles(Block chunk, index first, index end) {
    parallel_ranges(
        end - first, Work::elements((end - first) * kRows * chunk.depth()), [] {},
        [&](index from, index to) {
          for_blocks(chunk, [&](Block block) {
            for (index tile = from; tile < to; tile += 2) {
              const index row = (first + tile) * kRows;
              const float* at = p_.a + block.begin * p_.lda + row;
              float* packed = packed_tile(chunk, block, end - first, tile);
              if (tile + 2 <= to && row + 2 * kRows <= p_.m) {
                pack_two_tiles(at, block.depth(), packed);
              } else {
                pack_columns<kRows>(at, p_.lda, std::min(index{kRows}, p_.m - row), block.depth(), packed);
                if (tile + 2 <= to) {
                  pack_columns<kRows>(at + kRows, p_.lda, p_.m - row - kRows, block.depth(), packed + kRows * block.depth());
                }
              }
            }
          });
        });
  }
  void pack_two_tiles(const float* from, index depth, float* to) const {
    for (index k = 0; k < depth; ++k) {
      std::memcpy(to + k * kRows, from + k * p_.lda, kRows * sizeof(float));
      std::memcpy(to + (depth + k) * kRows, from + k * p_.lda + kRows, kRows * sizeof(float));
    }
  }

  /// The first tile of a panel that is computed: those before lie above the diagonal.
  index first_of(index panel) const { return p_.lower ? panel * kCols / kRows : 0; }

  void multiply(Block chunk, index first, index end) {
    auto on_thread = [&] { const OwnPanel asked(cut_); };
    const Work work = Work::products(std::min((end - first) * kRows, p_.m), p_.n, chunk.depth());
    if (cut_.by_rows) {
      parallel_ranges(end - first, work, on_thread, [&](index from, index to) {
        for (index panel = 0; panel < cut_.panels; ++panel) {
          multiply_panel(chunk, first, end, first + from, first + to, panel);
        }
      });
      return;
    }
    const auto tiles_in = [&](index panel) { return std::max<index>(0, end - std::max(first, first_of(panel))); };
    index all = 0;
    for (index panel = 0; panel < cut_.panels; ++panel) {
      all += tiles_in(panel);
    }
    parallel_ranges(all, work, on_thread, [&](index from, index to) {  // of the tiles of all panels, one panel after the other
      for (index panel = 0, before = 0; before < to; before += tiles_in(panel), ++panel) {
        const index panel_first = end - tiles_in(panel);
        multiply_panel(chunk, first, end, panel_first + std::max<index>(from - before, 0), std::min(panel_first + to - before, end), panel);
      }
    });
  }

  /// Tiles `first` to `end` of those in the chunk times one panel of B.
  void multiply_panel(Block chunk, index chunk_first, index chunk_end, index first, index end, index panel) const {
    if (first >= end) {
      return;
    }
    const index col = panel * kCols;
    const OwnPanel own(cut_);
    for_blocks(chunk, [&](Block block) {
      const Rows b = cut_.packs_b ? Rows{own.data(), kCols} : Rows{p_.b + block.begin * p_.ldb + col, p_.ldb};
      if (cut_.packs_b) {
        pack_b(p_, panel, block.begin, block.end, own);
      }
      for (index tile = first; tile < end; ++tile) {
        const index row = tile * kRows;
        const Rows a = cut_.packs_a     ? Rows{packed_tile(chunk, block, chunk_end - chunk_first, tile - chunk_first), kRows}
                       : p_.transpose_a ? Rows{p_.a + block.begin * p_.lda + row, p_.lda}
                                        : Rows{p_.a + row * p_.lda + block.begin, p_.lda};
        multiply_tile_at(block, a, b, row, col);
      }
    });
  }

  void multiply_tile_at(Block block, Rows a, Rows b, index row, index col) const {
    const index rows = std::min(index{kRows}, p_.m - row);
    index cols = std::min(kCols, p_.n - col);
    if (p_.lower) {
      cols = std::min(cols, row + rows - col);  // the others lie above the diagonal
    }
    float* c = p_.c + row * p_.ldc + col;
    const bool has_bias = block.begin == 0 && p_.bias != nullptr;
    if (has_bias && p_.add) {
      add_bias(rows, cols, p_.bias + col, c);
    }
    const Base base = block.begin > 0 || p_.add ? Base::previous : has_bias ? Base::bias : Base::nothing;
    const index vectors = ceil_div(cols, kLanes<float>);
    const auto multiply =
        (p_.transpose_a ? kMultiplyColumns : kMultiplyRows)[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)];
    if (col + vectors * kLanes<float> <= p_.n) {
      multiply(block.depth(), a.at, a.apart, b.at, b.apart, base, base == Base::bias ? p_.bias + col : nullptr, c, p_.ldc);
    } else {  // the last vector is not whole
      float sums[kRows * kCols];
      multiply(block.depth(), a.at, a.apart, b.at, b.apart, Base::nothing, nullptr, sums, kCols);
      for (index i = 0; i < rows; ++i) {
        for (index j = 0; j < cols; ++j) {
          float& to = c[i * p_.ldc + j];
          const float sum = sums[i * kCols + j];
          to = base == Base::nothing ? sum : (base == Base::bias ? p_.bias[col + j] : to) + sum;
        }
      }
    }
  }

  void add_bias(index rows, index cols, const float* bias, float* c) const {
    for (index i = 0; i < rows; ++i) {
      for (index j = 0; j < cols; ++j) {
        c[i * p_.ldc + j] += bias[j];
      }
    }
  }

  const Gemm<float>& p_;
  Cut cut_;
  float* a_ = nullptr;  // packed tiles of A, of one chunk
};

}  // namespace

index gemm_block_depth(index k) noexcept {
  constexpr index kMost = 768;  // a tile's rows of A stay in L1, a panel of B in L2, and C is seldom read again
  constexpr index kUnit = 8;
  return std::max(kUnit, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, kMost))), kUnit));
}

void gemm_tiles(const Gemm<float>& p) {
  if (p.m > 0 && p.n > 0) {
    Product(p).compute();
  }
}

}  // namespace dikkat::kernels
