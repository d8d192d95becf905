#pragma once

#include <algorithm>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "autograd/kernels/gemm/register_tile.h"

// The decisions how gemm_tiles.cpp cuts a product. That file explains tiles, panels and blocks of k.
namespace dikkat::kernels::product {

using register_tile::kCols;
using register_tile::kRows;

constexpr index kPackedAtOnce = 3 << 20;  // elements of A that are packed for all threads, about
constexpr index kFitsL2 = 1 << 19;        // elements of an operand that may be read in the wrong order, at most
constexpr index kFewPanels = 8;           // with fewer, two threads share the rows of C and not its panels
constexpr index kRowParts = 2;            // parts of the rows of a group of columns in that case, if there are enough groups

/// How all threads read A. Packed by rows, numbers are only rounded; packed by tiles, they lie in the order in which a tile reads them.
enum class ReadA { in_place, packed_rows, packed_tiles };
/// How a thread reads a panel of B: in place, or from its own memory, into which it packs B, or unpacks a PackedMatrix. While it multiplies
/// a `prefetched` panel, it prefetches the next one.
enum class ReadB { in_place, packed, prefetched };

/// How a product is cut. Bits follow from `depth`. Of the others, only `groups` depends on the number of threads.
///
/// | operand                                         | of f32                | of bf16                                      |
/// |-------------------------------------------------|-----------------------|----------------------------------------------|
/// | A (m, k)                                        | in place              | in place if it is stored as words of bf16    |
/// |                                                 |                       | and not widened, else packed by rows         |
/// | A^T (k, m), fits into L2, read by few panels    | in place              | packed by tiles                              |
/// | any other A^T                                   | packed by tiles       | packed by tiles                              |
/// | B (k, n), fits into L2, in whole vectors        | in place              | packed                                       |
/// | any other B or B^T, fits into L2                | packed                | packed                                       |
/// | B or B^T, does not fit into L2                  | packed and prefetched | packed and prefetched                        |
/// | a PackedMatrix                                  | packed                | packed                                       |
///
/// | loops                                           | if                                                                   |
/// |-------------------------------------------------|----------------------------------------------------------------------|
/// | each thread sums whole blocks of k              | gives_blocks_to_threads(): the rows below are about one block then   |
/// | threads share the rows of few groups of panels  | B is read in place or has few panels, or A^T is packed and has no    |
/// |                                                 | fewer columns (m) than B (n); never with `lower`                     |
/// | threads share panels, each a group of its own   | otherwise                                                            |
/// | a panel is multiplied in parts that stay in L1  | a block of A^T fits into L2                                          |
/// | A is packed for some k and tiles at a time      | it is packed, and larger than kPackedAtOnce; for all k if C is bf16  |
struct Cut {
  index depth;   // of a block of k
  index panels;  // of kCols columns
  index tiles;   // of kRows rows
  ReadA a;
  ReadB b;
  bool b_in_parts;
  index groups;       // of adjacent panels. Threads share the tiles of all groups, one group after the other
  index chunk_depth;  // of k at a time, and
  index chunk_tiles;  // tiles at a time, for which A is packed
};

/// The product of operands that a tile reads as T.
template <class T>
using ProblemOf = std::conditional_t<std::is_same_v<T, float>, Gemm<float>, Bf16Gemm>;

template <class T>
ReadA read_a(const Gemm<float>& p) {
  const bool in_place = !p.transpose_a || (p.k * p.m <= kFitsL2 && p.n < kFewPanels * kCols);
  return in_place ? ReadA::in_place : ReadA::packed_tiles;
}
template <class T>
ReadA read_a(const Bf16Gemm& p) {
  const bool has_words = std::is_same_v<T, bf16> && p.a.is_bf16() && p.k % kInWord<bf16> == 0 && p.lda % kInWord<bf16> == 0;
  return p.transpose_a ? ReadA::packed_tiles : has_words ? ReadA::in_place : ReadA::packed_rows;
}

template <class Problem>
ReadB read_b(const Problem& p) {
  if (p.packed_b == nullptr && p.k * p.n > kFitsL2) {
    return ReadB::prefetched;
  }
  const bool in_place = std::is_same_v<Problem, Gemm<float>> && p.packed_b == nullptr && !p.transpose_b && p.n % simd::kLanes<float> == 0;
  return in_place ? ReadB::in_place : ReadB::packed;
}

/// Returns whether C is bf16. If so, a thread keeps the sums over all of k.
inline bool rounds_c(const Gemm<float>&) { return false; }
inline bool rounds_c(const Bf16Gemm& p) { return p.c.is_bf16(); }

template <class T>
Cut cut_of(const ProblemOf<T>& p) {
  Cut cut{};
  cut.depth = gemm_block_depth(p.k, p.depth);
  cut.panels = ceil_div(p.n, kCols);
  cut.tiles = ceil_div(p.m, index{kRows});
  cut.a = read_a<T>(p);
  cut.b = read_b(p);
  cut.b_in_parts = p.transpose_a && p.m * cut.depth <= kFitsL2;
  // Which tiles threads share.
  const bool shares_rows =
      !p.lower && (cut.b == ReadB::in_place || cut.panels < kFewPanels || (cut.a == ReadA::packed_tiles && p.m >= p.n));
  cut.groups = shares_rows ? std::clamp<index>(thread_count() / kRowParts, 1, cut.panels) : cut.panels;
  // For how much of k, and for how many tiles, A is packed at a time.
  const bool in_place = cut.a == ReadA::in_place;
  cut.chunk_depth =
      in_place || rounds_c(p) ? std::max<index>(p.k, 1) : cut.depth * std::max<index>(1, kPackedAtOnce / (cut.depth * cut.tiles * kRows));
  cut.chunk_tiles =
      in_place ? cut.tiles : std::clamp<index>(kPackedAtOnce / (std::clamp<index>(p.k, 1, cut.chunk_depth) * kRows), 1, cut.tiles);
  return cut;
}

/// Returns whether each thread gets whole blocks of k, as the gradients of weights allow. Their k are the rows of a batch, and a thread
/// then reads the rows that it has written in the op before, which are in its cache. Without rows there are no blocks.
template <class Problem>
bool gives_blocks_to_threads(const Problem& p) {
  constexpr index kMostSums = 1 << 20;
  const index blocks = ceil_div(p.k, gemm_block_depth(p.k, p.depth));
  const index threads = thread_count();
  return p.depth == kDepthOfGradients && !rounds_c(p) && !p.lower && p.packed_b == nullptr && threads > 1 && blocks > 0 &&
         blocks % threads == 0 && blocks * p.m * p.n <= kMostSums;
}

/// A block of k, or several.
struct Block {
  index begin, end;
  index depth() const { return end - begin; }
};
/// Calls f(block) for the blocks of `depth` of `all`, and at least once.
template <class F>
void for_blocks(Block all, index depth, F&& f) {
  for (index begin = all.begin; begin == all.begin || begin < all.end; begin += depth) {
    f(Block{begin, std::min(begin + depth, all.end)});
  }
}

/// The k and the tiles, `first` to `end` - 1, for which A is packed at a time.
struct Chunk {
  Block k;
  index first, end;
  index tiles() const { return end - first; }
};

}  // namespace dikkat::kernels::product
