#include "autograd/kernels/gemm/gemm_tiles.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/gemm_amx.h"
#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/kernels/gemm/packed_panels.h"
#include "autograd/kernels/gemm/register_tile.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/kernels/run_tasks.h"
#include "autograd/simd/simd.h"

// C = A B by tiles that stay in registers (Goto and van de Geijn 2008). A panel is kCols columns of C. Each thread computes an equal number
// of tiles, panel after panel, and packs its part of B for each panel. Threads share only A, because a thread would wait long for something
// that another has just written. Many threads therefore divide columns before rows, as each group of columns is packed by the threads that
// share its rows. A is read in place, or packed for all threads if it is transposed. If an operand fits into L2, a transposed A that few
// panels read, or a B that is not transposed, is read in place too. Operands that are multiplied as bf16 are packed unless A is stored as
// bf16.
//
// An element of C is base + s_1 + s_2 + ..., added in this order. The base is the bias, the previous C, or nothing. s_i is the sum over the
// i-th block of k, from zero, one fused multiply-add after the other, for bf16 two for each word; or pair after pair of k by bfmmla. Blocks
// depend only on k and the problem's depth, so the bits of an element depend on nothing else (tests/kernels/reference/gemm.h:
// gemm_in_blocks()).
namespace dikkat::kernels {
namespace {

using namespace register_tile;

constexpr index kPackedAtOnce = 3 << 20;  // elements of A that are packed for all threads, about
constexpr index kInPlace = 1 << 19;       // elements of A or B that are read in place even if the order is wrong, at most
constexpr index kFewPanels = 8;           // with fewer, two threads share the rows of C and not its panels
constexpr index kRowParts = 2;            // parts of the rows of a group of columns in that case, if there are enough groups
template <class T>                        // of a panel of B at a time: half of L1
constexpr index kPartWords = (24 << 10) / (kCols * static_cast<index>(sizeof(Word<T>)));
constexpr index kTilesAtOnce = 64;  // tiles whose sums wait for the next part of the panel: 96 KiB, in L2
constexpr int kIntoL2 = 2;

template <class T>
using Problem = std::conditional_t<std::is_same_v<T, float>, Gemm<float>, Bf16Gemm>;

/// f(numbers) for the pointer to an operand of either type.
template <class F>
void visit(const float* numbers, F&& f) {
  f(numbers);
}
template <class F>
void visit(const Bf16Source& source, F&& f) {
  source.visit(f);
}

float* f32_of(float* c) { return c; }
float* f32_of(const Bf16Target& c) { return c.as_f32(); }

/// How A is read: in place, or packed for all threads, by rows or by tiles.
enum class Packed { in_place, rows, tiles };

Packed packed_a(const Gemm<float>& p) {
  return p.transpose_a && (p.k * p.m > kInPlace || p.n >= kFewPanels * kCols) ? Packed::tiles : Packed::in_place;
}
Packed packed_a(const Bf16Gemm& p) {
  const bool has_words = p.a.is_bf16() && p.k % kInWord<bf16> == 0 && p.lda % kInWord<bf16> == 0;
  return p.transpose_a ? Packed::tiles : has_words ? Packed::in_place : Packed::rows;
}
bool is_b_packed(const Gemm<float>& p) {
  return p.packed_b != nullptr || p.transpose_b || p.k * p.n > kInPlace || p.n % kLanes<float> != 0;
}
bool is_b_packed(const Bf16Gemm&) { return true; }
/// Whether C is bf16. If so, a thread keeps the sums over all of k.
bool rounds_c(const Gemm<float>&) { return false; }
bool rounds_c(const Bf16Gemm& p) { return p.c.is_bf16(); }

/// How a product is split. `groups` depends on the number of threads, but the bits do not depend on it. Everything else depends only on the
/// shape and on how the operands are stored.
struct Cut {
  template <class Problem>
  explicit Cut(const Problem& p)
      : depth(gemm_block_depth(p.k, p.depth)),
        panels(ceil_div(p.n, kCols)),
        tiles(ceil_div(p.m, index{kRows})),
        a(packed_a(p)),
        packs_b(is_b_packed(p)),
        prefetches_b(packs_b && p.packed_b == nullptr && p.k * p.n > kInPlace),
        reads_b_in_parts(p.transpose_a && p.m * depth <= kInPlace),
        groups(!p.lower && (!packs_b || panels < kFewPanels || (a == Packed::tiles && p.m >= p.n))
                   ? std::clamp<index>(thread_count() / kRowParts, 1, panels)
                   : panels),
        chunk_depth(a == Packed::in_place || rounds_c(p) ? std::max<index>(p.k, 1)
                                                         : depth * std::max<index>(1, kPackedAtOnce / (depth * tiles * kRows))),
        chunk_tiles(a == Packed::in_place ? tiles
                                          : std::clamp<index>(kPackedAtOnce / (std::clamp<index>(p.k, 1, chunk_depth) * kRows), 1, tiles)) {
  }

  index depth;   // of a block of k
  index panels;  // of kCols columns
  index tiles;   // of kRows rows
  Packed a;
  bool packs_b;
  bool prefetches_b;      // it does not fit into L2
  bool reads_b_in_parts;  // each part of a panel stays in L1
  index groups;           // of adjacent panels. Threads share the tiles of all groups, one group after the other
  index chunk_depth;      // of k at a time, and
  index chunk_tiles;      // tiles at a time, for which A is packed
};

/// A block of k.
struct Block {
  index begin, end;
  index depth() const { return end - begin; }
};

/// Rows of a matrix, in place or packed, `apart` words from one to the next.
template <class Number>
struct Rows {
  const Number* at;
  index apart;
};

/// One product: what is packed for all threads, and the loops of a thread.
template <class T>
class Product {
 public:
  explicit Product(const Problem<T>& p, const Product* plus = nullptr) : p_(p), cut_(p), plus_(plus) {}

  /// Whether it can be computed panel by panel beside another product.
  bool can_be_added() const { return cut_.a == Packed::in_place && !p_.lower; }

  void compute() {
    for (index begin = 0; begin == 0 || begin < p_.k; begin += cut_.chunk_depth) {
      const Block chunk{begin, std::min(begin + cut_.chunk_depth, p_.k)};
      for (index first = 0; first < cut_.tiles; first += cut_.chunk_tiles) {
        const index end = std::min(first + cut_.chunk_tiles, cut_.tiles);
        const Scratch<Word<T>> words(cut_.a == Packed::in_place ? 0 : (end - first) * kRows * words_of<T>(chunk.depth()));
        a_ = words;
        if (cut_.a != Packed::in_place) {
          visit(p_.a, [&](const auto* a) { pack_a(a, chunk, first, end); });
        }
        multiply(chunk, first, end);
      }
    }
  }

 private:
  /// This thread's memory for a panel of B.
  struct OwnPanel : Scratch<Word<T>> {
    explicit OwnPanel(const Cut& cut) : Scratch<Word<T>>(cut.packs_b ? words_of<T>(cut.depth) * kCols : 0) {}
  };

  template <class F>
  void for_blocks(Block chunk, F&& f) const {
    for (index begin = chunk.begin; begin == chunk.begin || begin < chunk.end; begin += cut_.depth) {
      f(Block{begin, std::min(begin + cut_.depth, chunk.end)});
    }
  }
  Word<T>* packed_tile(Block chunk, Block block, index tiles, index tile) const {
    return a_ + (words_of<T>(block.begin - chunk.begin) * tiles + tile * words_of<T>(block.depth())) * kRows;
  }

  /// The threads that multiply these tiles pack them, if they share the tiles.
  template <class From>
  void pack_a(const From* a, Block chunk, index first, index end) {
    const auto work = Work::elements((end - first) * kRows * chunk.depth());
    parallel_ranges(
        end - first, work, [] {},
        [&](index from, index to) {
          if (cut_.a == Packed::tiles) {
            pack_tiles(a, chunk, first, end, from, to);
          } else {
            round_rows(a, chunk, first, from, to);
          }
        });
  }
  /// Packs two tiles at a time, whose columns of A are in the same cache lines.
  template <class From>
  void pack_tiles(const From* a, Block chunk, index first, index end, index from, index to) const {
    for_blocks(chunk, [&](Block block) {
      for (index tile = from; tile < to; tile += 2) {
        const index row = (first + tile) * kRows;
        const From* at = a + block.begin * p_.lda + row;
        Word<T>* packed = packed_tile(chunk, block, end - first, tile);
        if (tile + 2 <= to && row + 2 * kRows <= p_.m) {
          pack_two_tiles(at, block.depth(), packed);
        } else {
          pack_columns<kRows>(at, p_.lda, std::min(index{kRows}, p_.m - row), block.depth(), packed);
          if (tile + 2 <= to) {
            pack_columns<kRows>(at + kRows, p_.lda, p_.m - row - kRows, block.depth(), packed + kRows * words_of<T>(block.depth()));
          }
        }
      }
    });
  }
  template <class From>
  void pack_two_tiles(const From* from, index depth, Word<T>* to) const {
    constexpr index kStep = 2 * kInWord<T>;
    Word<T> both[kStep / kInWord<T>][2][kRows];
    const index second = kRows * words_of<T>(depth);
    for (index k = 0; k < depth; k += kStep) {
      const index step = std::min(kStep, depth - k);
      pack_columns<2 * kRows>(from + k * p_.lda, p_.lda, 2 * kRows, step, both[0][0]);
      for (index i = 0; i < words_of<T>(step); ++i, to += kRows) {
        std::memcpy(to, both[i][0], sizeof both[i][0]);
        std::memcpy(to + second, both[i][1], sizeof both[i][1]);
      }
    }
  }
  template <class From>
  void round_rows(const From* a, Block chunk, index first, index from, index to) const {
    if constexpr (kInWord < T >> 1) {
      const index words = words_of<T>(chunk.depth());
      for (index row = from * kRows; row < std::min(to * kRows, p_.m - first * kRows); ++row) {
        pack_row(a + (first * kRows + row) * p_.lda + chunk.begin, chunk.depth(), a_ + row * words);
      }
    }
  }

  /// Panel `panel` of op(B) in a block of k.
  void pack_b(index panel, Block block, Word<T>* to) const {
    const index first = panel * kCols;
    const index count = std::min(kCols, p_.n - first);
    if (p_.packed_b != nullptr) {
      p_.transpose_b ? unpack_panels<kCols>(*p_.packed_b, first, block.begin, block.end, to)
                     : unpack_rows<kCols>(*p_.packed_b, first, block.begin, block.end, to);
      return;
    }
    visit(p_.b, [&](const auto* b) {
      if (p_.transpose_b) {
        pack_rows<kCols>(b + first * p_.ldb + block.begin, p_.ldb, count, block.depth(), to);
      } else {
        pack_columns<kCols>(b + block.begin * p_.ldb + first, p_.ldb, count, block.depth(), to);
      }
    });
  }

  /// Prefetches the B that is packed after this block of this panel, a share for each of `parts` tiles: it may come from memory.
  void prefetch_b(index panel, Block block, Block chunk, index part, index parts) const {
    const bool same_panel = block.end < chunk.end;
    const index col = (same_panel ? panel : panel + 1) * kCols;
    const index k = same_panel ? block.end : chunk.begin;
    const index depth = std::min(k + cut_.depth, chunk.end) - k;
    const index cols = std::min(kCols, p_.n - col);
    const index rows = p_.transpose_b ? cols : depth;
    const index width = p_.transpose_b ? depth : cols;
    visit(p_.b, [&](const auto* b) {
      constexpr index kLine = 64 / sizeof *b;
      for (index row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        const auto* at = p_.transpose_b ? b + (col + row) * p_.ldb + k : b + (k + row) * p_.ldb + col;
        for (index i = 0; i < width; i += kLine) {
          simd::prefetch<kIntoL2>(at, i);
        }
      }
    });
  }

  void multiply(Block chunk, index first, index end) {
    const bool adds = plus_ != nullptr && chunk.end == p_.k;
    // Each thread leases its panel before the loop.
    auto on_thread = [&] {
      {
        const OwnPanel panel(cut_);
        const WaitingSums sums(cut_, cut_.tiles);
      }
      if (adds) {
        const OwnPanel panel(plus_->cut_);
        const WaitingSums sums(plus_->cut_, plus_->cut_.tiles);
      }
    };
    // The tiles of all groups of panels are numbered one after another, and the threads get equal ranges of them.
    const Work work = Work::products(std::min((end - first) * kRows, p_.m), p_.n, chunk.depth());
    const auto first_panel = [&](index group) { return cut_.panels * group / cut_.groups; };
    const auto panels_in = [&](index group) { return first_panel(group + 1) - first_panel(group); };
    const auto first_tile = [&](index group) {  // those before lie above the diagonal
      return std::max(first, std::min(end, p_.lower ? group * kCols / kRows : 0));
    };
    const auto size_of = [&](index group) { return panels_in(group) * (end - first_tile(group)); };
    index all = 0;
    for (index group = 0; group < cut_.groups; ++group) {
      all += size_of(group);
    }
    parallel_ranges(all, work, on_thread, [&](index from, index to) {
      for (index group = 0, before = 0; before < to && group < cut_.groups; before += size_of(group), ++group) {
        const auto tile_at = [&](index i) {
          return first_tile(group) + std::clamp<index>(i - before, 0, size_of(group)) / panels_in(group);
        };
        for (index panel = first_panel(group); panel < first_panel(group + 1); ++panel) {
          multiply_panel(chunk, first, end, tile_at(from), tile_at(to), panel);
          if (adds) {
            plus_->multiply_panel({0, plus_->p_.k}, 0, cut_.tiles, tile_at(from), tile_at(to), panel);
          }
        }
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
    const OwnSums sums(*this, end - first);
    const WaitingSums waiting(cut_, end - first);
    for_blocks(chunk, [&](Block block) {
      if (cut_.packs_b) {
        pack_b(panel, block, own);
      }
      const index words = words_of<T>(block.depth());
      const index parts = cut_.reads_b_in_parts ? std::max<index>(1, ceil_div(words, kPartWords<T>)) : 1;
      for (index group = first; group < end; group += kTilesAtOnce) {
        for (index part = 0; part < parts; ++part) {
          const index from = words * part / parts;
          const Rows<Word<T>> b = rows_of_b(own, block, from, col);
          for (index tile = group; tile < std::min(group + kTilesAtOnce, end); ++tile) {
            if (cut_.prefetches_b && part == 0) {
              prefetch_b(panel, block, chunk, tile - first, end - first);
            }
            float* const wait = waiting + (parts > 1 ? (tile - group) * kTileSize : 0);
            const Tile t{.row = tile * kRows,
                         .col = col,
                         .words = words * (part + 1) / parts - from,
                         .a = rows_of_a(chunk, block, from, chunk_first, chunk_end, tile),
                         .b = b,
                         .before = part > 0 ? wait : nullptr};
            if (part + 1 < parts) {
              multiply(t, columns_of(t), Base::nothing, nullptr, wait, kCols);
            } else if (rounds_c(p_)) {
              multiply_and_round(block, t, sums + (is_one_block() ? 0 : (tile - first) * kTileSize));
            } else {
              multiply_into_c(block, t);
            }
          }
        }
      }
    });
  }

  /// Sums of tiles over the parts of a block so far. They wait in L2 for the next part.
  struct WaitingSums : Scratch<float> {
    WaitingSums(const Cut& cut, index tiles) : Scratch(cut.reads_b_in_parts ? std::min(tiles, kTilesAtOnce) * kTileSize : 0) {}
  };

  /// A tile of C, and what is multiplied for it in a part of a block of k: `words` words.
  struct Tile {
    index row, col;
    index words;
    Rows<T> a;
    Rows<Word<T>> b;
    const float* before;  // the sums over the block's k before these
  };
  index rows_of(const Tile& t) const { return std::min(index{kRows}, p_.m - t.row); }
  /// Columns of C that are computed: with `lower` no others than those below the diagonal.
  index columns_of(const Tile& t) const {
    const index all = std::min(kCols, p_.n - t.col);
    return p_.lower ? std::min(all, t.row + rows_of(t) - t.col) : all;
  }
  void multiply(const Tile& t, index cols, Base base, const float* bias, float* c, index ldc) const {
    const auto& functions = p_.transpose_a ? kMultiply<T, true> : kMultiply<T, false>;
    const MultiplyTile<T> function =
        functions[static_cast<std::size_t>(rows_of(t) - 1)][static_cast<std::size_t>(ceil_div(cols, kLanes<float>) - 1)];
    function(t.words, t.a.at, t.a.apart, t.b.at, t.b.apart, t.before, base, bias, c, ldc);
  }

  // If C is bf16, it is rounded once, from sums that a thread keeps in f32.
  struct OwnSums : Scratch<float> {
    OwnSums(const Product& product, index tiles) : Scratch(!rounds_c(product.p_) ? 0 : (product.is_one_block() ? 1 : tiles) * kTileSize) {}
  };
  bool is_one_block() const { return p_.k <= cut_.depth; }

  void multiply_and_round(Block block, const Tile& t, float* sums) const {
    if constexpr (std::is_same_v<T, bf16>) {
      const index rows = rows_of(t);
      const index cols = std::min(kCols, p_.n - t.col);
      bf16* c = p_.c.as_bf16() + t.row * p_.ldc + t.col;
      const bool has_base = p_.add || p_.bias != nullptr;
      if (block.begin == 0 && has_base) {
        for (index i = 0; i < rows; ++i) {
          for (index j = 0; j < cols; ++j) {
            const float bias = p_.bias != nullptr ? p_.bias[t.col + j] : 0.0F;
            sums[i * kCols + j] = p_.add ? to_float(c[i * p_.ldc + j]) + bias : bias;
          }
        }
      }
      const Base base = block.begin > 0 || has_base ? Base::previous : Base::nothing;
      multiply(t, cols, base, nullptr, sums, kCols);
      if (block.end == p_.k) {
        for (index i = 0; i < rows; ++i) {
          round_row(sums + i * kCols, cols, c + i * p_.ldc);
        }
      }
    }
  }

  /// From word `from` of the block on.
  Rows<Word<T>> rows_of_b(const OwnPanel& own, Block block, index from, index col) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!cut_.packs_b) {
        return {p_.b + (block.begin + from) * p_.ldb + col, p_.ldb};
      }
    }
    return {own + from * kCols, kCols};
  }
  Rows<T> rows_of_a(Block chunk, Block block, index from, index chunk_first, index chunk_end, index tile) const {
    const auto packed = [](const Word<T>* words, index apart) { return Rows<T>{reinterpret_cast<const T*>(words), apart}; };
    switch (cut_.a) {
      case Packed::tiles: return packed(packed_tile(chunk, block, chunk_end - chunk_first, tile - chunk_first) + from * kRows, kRows);
      case Packed::rows: {
        const index words = words_of<T>(chunk.depth());
        return packed(a_ + (tile - chunk_first) * kRows * words + words_of<T>(block.begin - chunk.begin) + from, words);
      }
      case Packed::in_place: break;
    }
    const index row = tile * kRows;
    const index k = block.begin + from * kInWord<T>;
    return {stored_a() + (p_.transpose_a ? k * p_.lda + row : row * p_.lda + k), p_.lda / kInWord<T>};
  }
  const T* stored_a() const {
    if constexpr (std::is_same_v<T, float>) {
      return p_.a;
    } else {
      return p_.a.as_bf16();
    }
  }

  void multiply_into_c(Block block, const Tile& t) const {
    const index rows = rows_of(t), cols = columns_of(t);
    float* c = f32_of(p_.c) + t.row * p_.ldc + t.col;
    const float* bias = block.begin == 0 && p_.bias != nullptr ? p_.bias + t.col : nullptr;
    if (bias != nullptr && p_.add) {
      add_bias(rows, cols, bias, c);
    }
    const Base base = block.begin > 0 || p_.add ? Base::previous : bias != nullptr ? Base::bias : Base::nothing;
    if (t.col + round_up(cols, kLanes<float>) <= p_.n) {
      multiply(t, cols, base, bias, c, p_.ldc);
    } else {  // the last vector is not whole
      float sums[kTileSize];
      multiply(t, cols, Base::nothing, nullptr, sums, kCols);
      for (index i = 0; i < rows; ++i) {
        for (index j = 0; j < cols; ++j) {
          float& to = c[i * p_.ldc + j];
          const float sum = sums[i * kCols + j];
          to = base == Base::nothing ? sum : (base == Base::bias ? bias[j] : to) + sum;
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

  const Problem<T>& p_;
  Cut cut_;
  const Product* plus_;
  Word<T>* a_ = nullptr;  // A packed, of one chunk
};

}  // namespace

index gemm_block_depth(index k, index most) noexcept {
  constexpr index kUnit = 8;
  return std::max(kUnit, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, most))), kUnit));
}

namespace {

const float* shifted(const float* numbers, index by) { return numbers + by; }
Bf16Source shifted(const Bf16Source& numbers, index by) {
  return numbers.is_bf16() ? Bf16Source(numbers.as_bf16() + by) : Bf16Source(numbers.as_f32() + by);
}
/// Whether each thread gets whole blocks of k, as the gradients of weights allow. Their k are the rows of a batch, and a thread then reads
/// the rows that it has written in the op before, which are in its cache. Without rows there are no blocks.
template <class T>
bool gives_blocks_to_threads(const Problem<T>& p) {
  constexpr index kMostSums = 1 << 20;
  const index blocks = ceil_div(p.k, gemm_block_depth(p.k, p.depth));
  const index threads = thread_count();
  return p.depth == kDepthOfGradients && !rounds_c(p) && !p.lower && p.packed_b == nullptr && threads > 1 && blocks > 0 &&
         blocks % threads == 0 && blocks * p.m * p.n <= kMostSums;
}

/// Computes the product of each block of k by itself, and then adds them up in their order.
template <class T>
void compute_by_blocks(const Problem<T>& p) {
  const index depth = gemm_block_depth(p.k, p.depth);
  const index blocks = ceil_div(p.k, depth);
  const Scratch<float> sums(blocks * p.m * p.n);
  run_tasks(blocks, Work::products(p.m, p.n, depth), [&](index block) {
    Problem<T> q = p;
    q.k = std::min(depth, p.k - block * depth);
    q.a = shifted(p.a, block * depth * p.lda);
    q.b = shifted(p.b, block * depth * (p.transpose_b ? 1 : p.ldb));
    q.c = sums + block * p.m * p.n;
    q.ldc = p.n;
    q.add = false;
    q.bias = nullptr;
    Product<T>(q).compute();
  });
  parallel_blocks(p.m, ceil_div(p.m, blocks), Work::elements(blocks * p.m * p.n), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      float* c = f32_of(p.c) + row * p.ldc;
      simd::for_vectors<float>(0, p.n, [&](index col, auto lanes) {
        const auto at = [&](const float* from) { return simd::load_as<float>(from + col, lanes); };
        const float* sum = sums + row * p.n;
        Vec<float> total = p.bias == nullptr ? at(p.add ? c : sum) : p.add ? at(c) + at(p.bias) : at(p.bias);
        for (index block = p.add || p.bias != nullptr ? 0 : 1; block < blocks; ++block) {
          total += at(sum + block * p.m * p.n);
        }
        simd::store(c + col, total, lanes);
      });
    }
  });
}

template <class T>
void compute(const Problem<T>& p) {
  if (p.m > 0 && p.n > 0) {
    gives_blocks_to_threads<T>(p) ? compute_by_blocks<T>(p) : Product<T>(p).compute();
  }
}

template <class T>
bool compute_both(const Problem<T>& p, const Problem<T>& plus) {
  if (p.m == 0 || p.n == 0 || p.lower || plus.plus != nullptr) {
    return false;
  }
  const Product<T> second(plus);
  if (!second.can_be_added()) {
    return false;
  }
  Product<T>(p, &second).compute();
  return true;
}

}  // namespace

void gemm_tiles(const Gemm<float>& p) { compute<float>(p); }
void gemm_tiles(const Bf16Gemm& p) { has_amx_products() ? gemm_amx(p) : compute<bf16>(p); }
bool gemm_tiles_of_both(const Gemm<float>& p, const Gemm<float>& plus) { return compute_both<float>(p, plus); }
bool gemm_tiles_of_both(const Bf16Gemm& p, const Bf16Gemm& plus) { return !has_amx_products() && compute_both<bf16>(p, plus); }

}  // namespace dikkat::kernels
