#include "autograd/kernels/gemm/gemm_amx.h"

// cmake gives this source the compiler's options for AMX (clang 14 spells the second name). Without AVX-512 with bf16, the product is never
// called.
#if defined(__AVX512BF16__)
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/amx_tiles.h"
#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/kernels/gemm/packed_panels.h"
#include "autograd/simd/simd.h"

// A strip is 32 rows of A and C, a panel 32 columns of B and C, and a group some adjacent panels. A thread packs B of a group into its own
// memory, so that it stays in L2, and multiplies strip after strip by it. Within a strip, a part of k at a time is multiplied by all panels
// of the group. This part of A stays in L1, and the next part is fetched meanwhile. Between the parts of a block of k, sums are in the
// thread's memory; between blocks they are in C, unless C is bf16. A is read in place, or packed for all threads if it is transposed or
// must be rounded.
//
// Threads get equal numbers of strips, group after group. An element's bits depend only on k, because the products of 32 k are added to C
// at once.
namespace dikkat::kernels {
namespace {

using namespace amx;

constexpr index kPartDepth = 256;         // k of a part, at most: A and B of a strip and a panel are two thirds of L1
constexpr index kMostDepth = 1536;        // k of a block for which B is packed
constexpr index kGroupBytes = 960 << 10;  // bytes of B of a group, about: half of L2
constexpr index kLowerGroup = 4;          // panels of a group if only elements below the diagonal are computed
constexpr index kPackedAtOnce = 3 << 20;  // elements of A that are packed for all threads, about
constexpr index kSumsOfStrips = 64;       // strips whose sums over blocks of k a thread keeps, at most
constexpr double kFaster = 8;             // multiply-adds that take as long as one of f32

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

/// Returns the length, a multiple of kStep, of the fewest about equal ranges of at most `most` that cover k.
index equal_depth(index k, index most) { return std::max(kStep, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, most))), kStep)); }

/// Describes how a product is split. Bits do not depend on it.
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

  /// Returns as many panels as fit into L2, such that there are enough groups of about equal size for all threads. If threads pack A, and
  /// each gets some strips, one group is better: a thread then multiplies the strips that it has packed, which are in its L2.
  index panels_of_group(const Bf16Gemm& p) const {
    const index most = p.lower ? kLowerGroup : kGroupBytes / (2 * kCols * depth);
    const index threads = thread_count();
    const bool divides_strips = !a_in_place && strips >= panels && strips >= 2 * threads;
    const index in_group =
        std::clamp<index>(divides_strips && panels <= most ? panels : std::min(most, ceil_div(panels, threads)), 1, panels);
    return ceil_div(panels, ceil_div(panels, in_group));
  }

  index strips, panels;
  index depth;  // k of a block, for which B is packed
  index part;   // k of a part, for which A stays in L1
  bool a_in_place;
  bool rounds_c;
  bool keeps_sums;  // C is rounded, and there are several blocks
  index group;      // panels of a group
  index groups;
  index panels_of_sums;  // panels whose sums a thread keeps between parts
  index chunk_depth;     // k for which A is packed at a time
  index chunk_strips;    // strips for which A is packed at a time
};

/// One product: the operands packed for all threads, and the loops of a thread.
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

  /// Packs A of the strips, 32 k after 32 k: adjacent rows of A transposed are read one after another.
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

  /// Multiplies strips begin to end - 1 by the group of panels that begins at `panel`.
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
    // Multiply a part of k at a time by all panels, and fetch the next part.
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
        // Sums begin at the base in the first part, and at the sums so far in the others.
        Base base{own, kCols * 4};
        if (begins) {
          base = p_.c.visit([&](auto* c) { return base_of(part, rows, cols, col, c + row * p_.ldc + col, is_direct, own); });
        }
        // The last part moves the sums to C.
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
  /// Returns the part of A that is multiplied after this one, of which each step with `panels` panels fetches its share.
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

  /// Returns where the numbers lie to which the sums of a part are added. They are in `c` if it `is_direct`, in the bias, or in `sums`, to
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
