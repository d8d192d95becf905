#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/gemm_libraries.h"
#include "autograd/kernels/transpose_block.h"

// C = A B by tiles that stay in registers (Goto and van de Geijn 2008). B is packed into panels of kCols columns: by the task that uses
// the panel if it has all rows of C, otherwise once for all tasks. A is read in place, or packed if it is transposed.
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
constexpr index kTasks = 64;                          // at least, where the shape allows: enough for many threads to share evenly
constexpr index kPackedAtOnce = 3 << 20;              // elements of A or B that are packed for all tasks, about

/// How a product is split. Depends on the shape alone.
struct Cut {
  explicit Cut(const Gemm<float>& p)
      : depth(gemm_block_depth(p.k)),
        panels(ceil_div(p.n, kCols)),
        tiles(ceil_div(p.m, index{kRows})),
        chunk_depth(depth * std::max<index>(1, kPackedAtOnce / (depth * panels * kCols))),
        chunk_tiles(p.transpose_a ? std::clamp<index>(kPackedAtOnce / (std::min(chunk_depth, p.k) * kRows), 1, tiles) : tiles),
        blocks(std::min(ceil_div(kTasks, panels), chunk_tiles)),
        block_tiles(ceil_div(chunk_tiles, blocks)) {}

  /// Whether tasks share packed panels of B.
  bool shares_b() const { return block_tiles < tiles; }

  index depth;        // of a block of k
  index panels;       // of kCols columns
  index tiles;        // of kRows rows
  index chunk_depth;  // of k at a time, for which B is packed if tasks share it
  index chunk_tiles;  // tiles at a time, for which A is packed if it is transposed
  index blocks;       // of rows in a chunk, each of block_tiles tiles
  index block_tiles;
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

/// c (kUsedRows, kUsed vectors), rows ldc apart, = base + a b. a is rows lda apart, or packed (depth, kRows); b is a panel.
template <bool kPacked, int kUsedRows, int kUsed>
void multiply_tile(index depth, const float* a, index lda, const float* b, Base base, const float* bias, float* c, index ldc) {
  if (base == Base::previous) {
    for (index row = 0; row < kUsedRows; ++row) {
      for (int v = 0; v < kUsed; ++v) {
        __builtin_prefetch(c + row * ldc + v * kLanes<float>, 1);
      }
    }
  }
  Vec<float> sums[kUsedRows][kUsed] = {};
  for (index k = 0; k < depth; ++k, a += kPacked ? kRows : 1, b += kCols) {
    Vec<float> bs[kUsed];
    for (int v = 0; v < kUsed; ++v) {
      bs[v] = simd::load(b + v * kLanes<float>);
    }
    for (index row = 0; row < kUsedRows; ++row) {
      const Vec<float> as = simd::broadcast(a[kPacked ? row : row * lda]);
      for (int v = 0; v < kUsed; ++v) {
        sums[row][v] = simd::fused_multiply_add(as, bs[v], sums[row][v]);
      }
    }
  }
  for (index row = 0; row < kUsedRows; ++row) {
    for (int v = 0; v < kUsed; ++v) {
      float* at = c + row * ldc + v * kLanes<float>;
      const Vec<float> sum = sums[row][v];
      simd::store(at, base == Base::nothing ? sum : (base == Base::bias ? simd::load(bias + v * kLanes<float>) : simd::load(at)) + sum);
    }
  }
}

using MultiplyTile = void (*)(index depth, const float* a, index lda, const float* b, Base base, const float* bias, float* c, index ldc);
/// multiply_tile() for each number of rows and vectors: [packed][rows - 1][vectors - 1].
template <bool kPacked, std::size_t... kAt>
constexpr std::array<std::array<MultiplyTile, kVectors>, kRows> tile_functions(std::index_sequence<kAt...>) {
  std::array<std::array<MultiplyTile, kVectors>, kRows> functions{};
  ((functions[kAt / kVectors][kAt % kVectors] = multiply_tile<kPacked, kAt / kVectors + 1, kAt % kVectors + 1>), ...);
  return functions;
}
constexpr auto kMultiplyPacked = tile_functions<true>(std::make_index_sequence<kRows * kVectors>());
constexpr auto kMultiplyInPlace = tile_functions<false>(std::make_index_sequence<kRows * kVectors>());

/// A block of k.
struct Block {
  index begin, end;
  index depth() const { return end - begin; }
};

/// One product: what is packed for all tasks, and the loops of a task.
class Product {
 public:
  explicit Product(const Gemm<float>& p) : p_(p), cut_(p) {}

  void compute() {
    for (index begin = 0; begin == 0 || begin < p_.k; begin += cut_.chunk_depth) {
      const Block chunk{begin, std::min(begin + cut_.chunk_depth, p_.k)};
      const Scratch<float> panels(cut_.shares_b() ? cut_.panels * kCols * chunk.depth() : 0);
      b_ = panels;
      if (cut_.shares_b()) {
        pack_panels(chunk);
      }
      for (index first = 0; first < cut_.tiles; first += cut_.chunk_tiles) {
        const index end = std::min(first + cut_.chunk_tiles, cut_.tiles);
        const Scratch<float> tiles(p_.transpose_a ? (end - first) * kRows * chunk.depth() : 0);
        a_ = tiles;
        if (p_.transpose_a) {
          pack_tiles(chunk, first, end);
        }
        multiply(chunk, first, end);
      }
    }
  }

 private:
  /// This thread's memory for a panel of B.
  struct OwnPanel : Scratch<float> {
    explicit OwnPanel(const Cut& cut) : Scratch(cut.shares_b() ? 0 : cut.depth * kCols) {}
  };

  template <class F>
  void for_blocks(Block chunk, F&& f) const {
    for (index begin = chunk.begin; begin == chunk.begin || begin < chunk.end; begin += cut_.depth) {
      f(Block{begin, std::min(begin + cut_.depth, chunk.end)});
    }
  }
  float* packed_panel(Block chunk, Block block, index panel) const {
    return b_ + (block.begin - chunk.begin) * cut_.panels * kCols + panel * block.depth() * kCols;
  }
  float* packed_tile(Block chunk, Block block, index tiles, index tile) const {
    return a_ + ((block.begin - chunk.begin) * tiles + tile * block.depth()) * kRows;
  }

  void pack_panels(Block chunk) {
    parallel_for(cut_.panels, Work::elements(cut_.panels * kCols * chunk.depth()), [&](index panel) {
      for_blocks(chunk, [&](Block block) { pack_b(p_, panel, block.begin, block.end, packed_panel(chunk, block, panel)); });
    });
  }

  /// A task packs two tiles, whose columns of A lie in the same cache lines.
  void pack_tiles(Block chunk, index first, index end) {
    parallel_for(ceil_div(end - first, index{2}), Work::elements((end - first) * kRows * chunk.depth()), [&](index pair) {
      const index tile = 2 * pair;
      const index row = (first + tile) * kRows;
      for_blocks(chunk, [&](Block block) {
        const float* from = p_.a + block.begin * p_.lda + row;
        float* to = packed_tile(chunk, block, end - first, tile);
        if (row + 2 * kRows <= p_.m) {
          for (index k = 0; k < block.depth(); ++k) {
            std::memcpy(to + k * kRows, from + k * p_.lda, kRows * sizeof(float));
            std::memcpy(to + (block.depth() + k) * kRows, from + k * p_.lda + kRows, kRows * sizeof(float));
          }
          return;
        }
        for (index i = tile; i < std::min(tile + 2, end - first); ++i) {
          const index at = (i - tile) * kRows;
          pack_columns<kRows>(from + at, p_.lda, std::min(index{kRows}, p_.m - row - at), block.depth(), to + block.depth() * at);
        }
      });
    });
  }

  void multiply(Block chunk, index first, index end) {
    const index blocks = ceil_div(end - first, cut_.block_tiles);
    const index tasks = blocks * cut_.panels;
    auto on_thread = [&] { const OwnPanel asked(cut_); };
    auto task = [&](index i) {
      const index block_first = first + i / cut_.panels * cut_.block_tiles;
      multiply_panel(chunk, first, end, block_first, std::min(block_first + cut_.block_tiles, end), i % cut_.panels);
    };
    const Work work = Work::products(std::min((end - first) * kRows, p_.m), p_.n, chunk.depth());
    p_.lower ? parallel_for_uneven(tasks, work, on_thread, task) : parallel_for(tasks, work, on_thread, task);
  }

  /// Tiles `first` to `end` of those in the chunk times one panel of B.
  void multiply_panel(Block chunk, index chunk_first, index chunk_end, index first, index end, index panel) const {
    const index col = panel * kCols;
    if (p_.lower) {
      first = std::max(first, col / kRows);  // tiles before this one lie above the diagonal
      if (first >= end) {
        return;
      }
    }
    const OwnPanel own(cut_);
    for_blocks(chunk, [&](Block block) {
      const float* b = cut_.shares_b() ? packed_panel(chunk, block, panel) : own.data();
      if (!cut_.shares_b()) {
        pack_b(p_, panel, block.begin, block.end, own);
      }
      for (index tile = first; tile < end; ++tile) {
        const index row = tile * kRows;
        const float* a =
            p_.transpose_a ? packed_tile(chunk, block, chunk_end - chunk_first, tile - chunk_first) : p_.a + row * p_.lda + block.begin;
        multiply_tile_at(block, a, b, row, col);
      }
    });
  }

  void multiply_tile_at(Block block, const float* a, const float* b, index row, index col) const {
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
        (p_.transpose_a ? kMultiplyPacked : kMultiplyInPlace)[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)];
    if (col + vectors * kLanes<float> <= p_.n) {
      multiply(block.depth(), a, p_.lda, b, base, base == Base::bias ? p_.bias + col : nullptr, c, p_.ldc);
    } else {  // the last vector is not whole
      float sums[kRows * kCols];
      multiply(block.depth(), a, p_.lda, b, Base::nothing, nullptr, sums, kCols);
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
  float* b_ = nullptr;  // packed panels of B, likewise
};

}  // namespace

void gemm_packed(const Gemm<float>& p) { Product(p).compute(); }

}  // namespace dikkat::kernels
