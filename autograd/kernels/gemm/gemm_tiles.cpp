#include "autograd/kernels/gemm/gemm_tiles.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/gemm_amx.h"
#include "autograd/kernels/gemm/product_cut.h"
#include "autograd/kernels/gemm/product_packing.h"
#include "autograd/kernels/gemm/register_tile.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/kernels/run_tasks.h"
#include "autograd/simd/simd.h"

// C = A B by tiles that stay in registers (Goto and van de Geijn 2008). A panel is kCols columns of C. Each thread computes an equal number
// of tiles, panel after panel, and packs its part of B for each panel. Threads share only A, because a thread would wait long for something
// that another has just written. Many threads therefore divide columns before rows, as each group of columns is packed by the threads that
// share its rows. product_cut.h has the decisions.
//
// An element of C is base + s_1 + s_2 + ..., added in this order. The base is the bias, the previous C, or nothing. s_i is the sum over the
// i-th block of k, from zero, one fused multiply-add after the other, for bf16 two for each word; or pair after pair of k by bfmmla. Blocks
// depend only on k and the problem's depth, so the bits of an element depend on nothing else (tests/kernels/reference/gemm.h:
// gemm_in_blocks()).
namespace dikkat::kernels {
namespace {

using namespace product;
using namespace register_tile;

template <class T>  // of a panel of B at a time: half of L1
constexpr index kPartWords = (24 << 10) / (kCols * static_cast<index>(sizeof(Word<T>)));
constexpr index kTilesAtOnce = 64;  // tiles whose sums wait for the next part of the panel: 96 KiB, in L2

float* f32_of(float* c) { return c; }
float* f32_of(const Bf16Target& c) { return c.as_f32(); }

/// Adjacent panels `panel` to `panel_end` - 1, and the tiles of a chunk that are computed in each of them.
struct Group {
  index panel, panel_end;
  index tile, tile_end;
  index size() const { return (panel_end - panel) * (tile_end - tile); }
  /// Returns the tile to which a thread comes that has done `count` tiles of the group, panel by panel.
  index tile_at(index count) const { return tile + std::clamp<index>(count, 0, size()) / (panel_end - panel); }
};

/// A tile of C, and what is multiplied for it in a part of a block of k.
template <class T>
struct Tile {
  index row, col;
  index rows, cols;  // that are computed
  index words;       // along k
  Rows<NumberOf<T>> a;
  Rows<Word<T>> b;
  const float* before;  // the sums over the block's k before these, or null
};

/// One product, and one that is added to it, or null.
template <class T>
class Product {
 public:
  explicit Product(const ProblemOf<T>& p, const Product* plus = nullptr) : p_(p), cut_(cut_of<T>(p)), plus_(plus) {}

  /// Returns whether it can be computed panel by panel next to another product.
  bool can_be_added() const { return cut_.chunk_depth >= p_.k && !p_.lower; }

  void compute() const {
    for_blocks({0, p_.k}, cut_.chunk_depth, [&](Block k) {
      for (index first = 0; first < cut_.tiles; first += cut_.chunk_tiles) {
        multiply(Chunk{k, first, std::min(first + cut_.chunk_tiles, cut_.tiles)});
      }
    });
  }

 private:
  /// A thread's sums of tiles over the parts of a block so far. They wait in L2 for the next part.
  struct WaitingSums : Scratch<float> {
    WaitingSums(const Cut& cut, index tiles) : Scratch(cut.b_in_parts ? std::min(tiles, kTilesAtOnce) * kTileSize : 0) {}
  };
  /// If C is bf16, it is rounded once, from sums over all of k that a thread keeps in f32.
  struct ExactSums : Scratch<float> {
    ExactSums(const Product& product, index tiles)
        : Scratch(!rounds_c(product.p_) ? 0 : (product.is_one_block() ? 1 : tiles) * kTileSize) {}
  };
  bool is_one_block() const { return p_.k <= cut_.depth; }
  bool adds_after(const Chunk& chunk) const { return plus_ != nullptr && chunk.k.end == p_.k; }

  /// A of a chunk, and of the product that is added after it.
  struct Operands {
    ChunkOfA<T> a;
    std::optional<ChunkOfA<T>> of_plus;
    Operands(const Product& product, const Chunk& chunk) : a(product.p_, product.cut_, chunk) {
      if (product.adds_after(chunk)) {
        const Product& plus = *product.plus_;
        of_plus.emplace(plus.p_, plus.cut_, Chunk{{0, plus.p_.k}, chunk.first, chunk.end});
      }
    }
  };

  /// Leases this thread's memory for a moment, so that multiply_panel() finds it.
  void lease_memory() const {
    const PanelOfB<T> panel(p_, cut_, 0);
    const WaitingSums sums(cut_, cut_.tiles);
  }
  Group group_at(index group, const Chunk& chunk) const {
    const index above_diagonal = p_.lower ? group * kCols / kRows : 0;
    return {.panel = cut_.panels * group / cut_.groups,
            .panel_end = cut_.panels * (group + 1) / cut_.groups,
            .tile = std::max(chunk.first, std::min(chunk.end, above_diagonal)),
            .tile_end = chunk.end};
  }

  /// Multiplies the tiles of a chunk on all threads. In one group of panels, each thread has tiles of its own, and packs them into its own
  /// memory: what another thread has written there before would be slow to write.
  void multiply(const Chunk& chunk) const {
    const bool adds = adds_after(chunk);
    std::optional<Operands> shared;
    if (cut_.groups > 1) {
      shared.emplace(*this, chunk);
    }
    const index own_tiles = shared ? 0 : ceil_div(chunk.tiles(), thread_count());
    auto on_thread = [&] {
      const Scratch<Word<T>> own(packed_words<T>(cut_, own_tiles, chunk.k.depth()));
      const Scratch<Word<T>> own_of_plus(adds ? packed_words<T>(plus_->cut_, own_tiles, plus_->p_.k) : 0);
      lease_memory();
      if (adds) {
        plus_->lease_memory();
      }
    };
    // The tiles of all groups of panels are numbered one after another, and the threads get equal ranges of them.
    index all = 0;
    for (index i = 0; i < cut_.groups; ++i) {
      all += group_at(i, chunk).size();
    }
    const Work work = Work::products(std::min(chunk.tiles() * kRows, p_.m), p_.n, chunk.k.depth());
    parallel_ranges(all, work, on_thread, [&](index from, index to) {
      for (index i = 0, before = 0; before < to && i < cut_.groups; ++i) {
        const Group group = group_at(i, chunk);
        const index first = group.tile_at(from - before), end = group.tile_at(to - before);
        std::optional<Operands> own;
        if (!shared) {
          own.emplace(*this, Chunk{chunk.k, first, end});
        }
        const Operands& operands = shared ? *shared : *own;
        for (index panel = group.panel; panel < group.panel_end; ++panel) {
          multiply_panel(operands.a, first, end, panel);
          if (adds) {
            plus_->multiply_panel(*operands.of_plus, first, end, panel);
          }
        }
        before += group.size();
      }
    });
  }

  /// Multiplies tiles `first` to `end` - 1 by one panel of B.
  void multiply_panel(const ChunkOfA<T>& a, index first, index end, index panel) const {
    if (first >= end) {
      return;
    }
    const PanelOfB<T> b(p_, cut_, panel);
    const ExactSums exact(*this, end - first);
    const WaitingSums waiting(cut_, end - first);
    const Block all = a.chunk().k;
    for_blocks(all, cut_.depth, [&](Block block) {
      b.pack(block);
      const index words = words_of<T>(block.depth());
      const index parts = cut_.b_in_parts ? std::max<index>(1, ceil_div(words, kPartWords<T>)) : 1;
      // Some tiles at a time are multiplied by one part of the panel after the other.
      for (index some = first; some < end; some += kTilesAtOnce) {
        for (index part = 0; part < parts; ++part) {
          const index from = words * part / parts;
          const Rows<Word<T>> rows_of_b = b.rows(block, from);
          for (index tile = some; tile < std::min(some + kTilesAtOnce, end); ++tile) {
            if (part == 0) {
              b.prefetch_next(block, all, tile - first, end - first);
            }
            float* const wait = waiting + (parts > 1 ? (tile - some) * kTileSize : 0);
            const Tile<T> t{.row = tile * kRows,
                            .col = panel * kCols,
                            .rows = rows_of(tile),
                            .cols = columns_of(tile, panel),
                            .words = words * (part + 1) / parts - from,
                            .a = a.rows(block, from, tile),
                            .b = rows_of_b,
                            .before = part > 0 ? wait : nullptr};
            // The last part completes the block's sums, which are added to C.
            if (part + 1 < parts) {
              multiply_tile(t, Base::nothing, nullptr, wait, kCols);
            } else if (rounds_c(p_)) {
              add_and_round(block, t, exact + (is_one_block() ? 0 : (tile - first) * kTileSize));
            } else {
              add_to_c(block, t);
            }
          }
        }
      }
    });
  }

  index rows_of(index tile) const { return std::min(index{kRows}, p_.m - tile * kRows); }
  /// Returns the columns of a tile that are computed: with `lower` no others than those below the diagonal.
  index columns_of(index tile, index panel) const {
    const index all = std::min(kCols, p_.n - panel * kCols);
    return p_.lower ? std::min(all, tile * kRows + rows_of(tile) - panel * kCols) : all;
  }
  void multiply_tile(const Tile<T>& t, Base base, const float* bias, float* c, index ldc) const {
    const auto& functions = p_.transpose_a ? kMultiply<NumberOf<T>, true> : kMultiply<NumberOf<T>, false>;
    const MultiplyTile<NumberOf<T>> function =
        functions[static_cast<std::size_t>(t.rows - 1)][static_cast<std::size_t>(ceil_div(t.cols, kLanes<float>) - 1)];
    function(t.words, t.a.at, t.a.apart, t.b.at, t.b.apart, t.before, base, bias, c, ldc);
  }

  void add_to_c(Block block, const Tile<T>& t) const {
    float* c = f32_of(p_.c) + t.row * p_.ldc + t.col;
    const float* bias = block.begin == 0 && p_.bias != nullptr ? p_.bias + t.col : nullptr;
    if (bias != nullptr && p_.add) {
      for_elements(t, [&](index i, index j) { c[i * p_.ldc + j] += bias[j]; });
    }
    const Base base = block.begin > 0 || p_.add ? Base::previous : bias != nullptr ? Base::bias : Base::nothing;
    if (t.col + round_up(t.cols, kLanes<float>) <= p_.n) {
      multiply_tile(t, base, bias, c, p_.ldc);
      return;
    }
    // The last vector is not whole.
    float sums[kTileSize];
    multiply_tile(t, Base::nothing, nullptr, sums, kCols);
    for_elements(t, [&](index i, index j) {
      float& to = c[i * p_.ldc + j];
      const float sum = sums[i * kCols + j];
      to = base == Base::nothing ? sum : (base == Base::bias ? bias[j] : to) + sum;
    });
  }

  /// Adds the block's sums to those of the tile so far, which the last block rounds into C.
  void add_and_round(Block block, const Tile<T>& t, float* sums) const {
    if constexpr (!std::is_same_v<T, float>) {
      bf16* c = p_.c.as_bf16() + t.row * p_.ldc + t.col;
      const bool has_base = p_.add || p_.bias != nullptr;
      if (block.begin == 0 && has_base) {
        for_elements(t, [&](index i, index j) {
          const float bias = p_.bias != nullptr ? p_.bias[t.col + j] : 0.0F;
          sums[i * kCols + j] = p_.add ? to_float(c[i * p_.ldc + j]) + bias : bias;
        });
      }
      for (index i = 0; i < t.rows && block.end == p_.k; ++i) {
        __builtin_prefetch(c + i * p_.ldc, 1);
        __builtin_prefetch(c + i * p_.ldc + t.cols - 1, 1);
      }
      multiply_tile(t, block.begin > 0 || has_base ? Base::previous : Base::nothing, nullptr, sums, kCols);
      for (index i = 0; i < t.rows && block.end == p_.k; ++i) {
        round_row(sums + i * kCols, t.cols, c + i * p_.ldc);
      }
    }
  }
  template <class F>
  void for_elements(const Tile<T>& t, F&& f) const {
    for (index i = 0; i < t.rows; ++i) {
      for (index j = 0; j < t.cols; ++j) {
        f(i, j);
      }
    }
  }

  const ProblemOf<T>& p_;
  Cut cut_;
  const Product* plus_;
};

const float* shifted(const float* numbers, index by) { return numbers + by; }
Bf16Source shifted(const Bf16Source& numbers, index by) {
  return numbers.is_bf16() ? Bf16Source(numbers.as_bf16() + by) : Bf16Source(numbers.as_f32() + by);
}

/// Computes the product of each block of k by itself, and then adds them up in their order.
template <class T>
void compute_by_blocks(const ProblemOf<T>& p) {
  const index depth = gemm_block_depth(p.k, p.depth);
  const index blocks = ceil_div(p.k, depth);
  const Scratch<float> sums(blocks * p.m * p.n);
  run_tasks(blocks, Work::products(p.m, p.n, depth), [&](index block) {
    ProblemOf<T> q = p;
    q.k = std::min(depth, p.k - block * depth);
    q.a = shifted(p.a, block * depth * (p.transpose_a ? p.lda : 1));
    q.b = shifted(p.b, block * depth * (p.transpose_b ? 1 : p.ldb));
    q.c = sums + block * p.m * p.n;
    q.ldc = p.n;
    q.add = false;
    q.bias = nullptr;
    Product<T>(q).compute();
  });
  // Add the blocks to the base: the previous C, the bias, both, or the first block.
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
void compute(const ProblemOf<T>& p) {
  if (p.m > 0 && p.n > 0) {
    gives_blocks_to_threads(p) ? compute_by_blocks<T>(p) : Product<T>(p).compute();
  }
}

template <class T>
bool compute_both(const ProblemOf<T>& p, const ProblemOf<T>& plus) {
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

/// Calls f with the type as which tiles read bf16 here.
template <class F>
auto as_multiplied(F&& f) {
#if defined(__AVX512BF16__)
  return widens_bf16_products() ? f(Widened{}) : f(bf16{});
#elif defined(DIKKAT_BFMMLA)
  return f(bf16{});
#else
  return f(Widened{});
#endif
}

}  // namespace

index gemm_block_depth(index k, index most) noexcept {
  constexpr index kUnit = 8;
  return std::max(kUnit, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, most))), kUnit));
}

void gemm_tiles(const Gemm<float>& p) { compute<float>(p); }
void gemm_tiles(const Bf16Gemm& p) {
  has_amx_products() ? gemm_amx(p) : as_multiplied([&](auto type) { compute<decltype(type)>(p); });
}
bool gemm_tiles_of_both(const Gemm<float>& p, const Gemm<float>& plus) { return compute_both<float>(p, plus); }
bool gemm_tiles_of_both(const Bf16Gemm& p, const Bf16Gemm& plus) {
  return !has_amx_products() && as_multiplied([&](auto type) { return compute_both<decltype(type)>(p, plus); });
}

}  // namespace dikkat::kernels
