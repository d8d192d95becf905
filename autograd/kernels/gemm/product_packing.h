#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/packed_panels.h"
#include "autograd/kernels/gemm/product_cut.h"

// The operands of a product as its tiles read them: A of a chunk, which all threads read, and a thread's panel of B.
namespace dikkat::kernels::product {

constexpr int kIntoL2 = 2;

/// Rows of a matrix, in place or packed, `apart` words from one to the next.
template <class Number>
struct Rows {
  const Number* at;
  index apart;
};

/// Calls f(numbers) for the pointer to an operand of either type.
template <class F>
void visit(const float* numbers, F&& f) {
  f(numbers);
}
template <class F>
void visit(const Bf16Source& source, F&& f) {
  source.visit(f);
}

inline const float* stored_as(const float* numbers, float) { return numbers; }
inline const bf16* stored_as(const Bf16Source& numbers, bf16) { return numbers.as_bf16(); }
inline const float* stored_as(const Bf16Source&, Widened) { return nullptr; }  // it is never read in place

/// Returns the words of A that are packed for some tiles.
template <class T>
index packed_words(const Cut& cut, index tiles, index depth) {
  return cut.a == ReadA::in_place ? 0 : tiles * kRows * words_of<T>(depth);
}

/// A of a chunk: in place, or packed by all threads; within a parallel loop, by this one.
template <class T>
class ChunkOfA {
 public:
  ChunkOfA(const ProblemOf<T>& p, const Cut& cut, const Chunk& chunk)
      : p_(p), cut_(cut), chunk_(chunk), packed_(packed_words<T>(cut, chunk.tiles(), chunk.k.depth())) {
    if (cut.a != ReadA::in_place) {
      visit(p.a, [&](const auto* a) { pack(a); });
    }
  }

  const Chunk& chunk() const { return chunk_; }

  /// Returns the rows of a tile, starting at word `from` of a block.
  Rows<NumberOf<T>> rows(Block block, index from, index tile) const {
    const auto packed = [](const Word<T>* words, index apart) {
      return Rows<NumberOf<T>>{reinterpret_cast<const NumberOf<T>*>(words), apart};
    };
    switch (cut_.a) {
      case ReadA::packed_tiles: return packed(packed_tile(block, tile) + from * kRows, kRows);
      case ReadA::packed_rows: return packed(packed_row(tile * kRows) + words_of<T>(block.begin - chunk_.k.begin) + from, row_words());
      case ReadA::in_place: break;
    }
    const index row = tile * kRows;
    const index k = block.begin + from * kInWord<T>;
    return {stored_as(p_.a, T{}) + (p_.transpose_a ? k * p_.lda + row : row * p_.lda + k), p_.lda / kInWord<T>};
  }

 private:
  index row_words() const { return words_of<T>(chunk_.k.depth()); }
  Word<T>* packed_row(index row) const { return packed_ + (row - chunk_.first * kRows) * row_words(); }
  Word<T>* packed_tile(Block block, index tile) const {
    return packed_ +
           (words_of<T>(block.begin - chunk_.k.begin) * chunk_.tiles() + (tile - chunk_.first) * words_of<T>(block.depth())) * kRows;
  }

  /// The threads that multiply these tiles pack them, if they share the tiles.
  template <class From>
  void pack(const From* a) const {
    const auto work = Work::elements(chunk_.tiles() * kRows * chunk_.k.depth());
    parallel_ranges(
        chunk_.tiles(), work, [] {},
        [&](index from, index to) {
          if (cut_.a == ReadA::packed_tiles) {
            pack_tiles(a, chunk_.first + from, chunk_.first + to);
          } else {
            pack_rows(a, chunk_.first + from, chunk_.first + to);
          }
        });
  }
  /// Packs two tiles at a time, whose columns of A are in the same cache lines.
  template <class From>
  void pack_tiles(const From* a, index from, index to) const {
    for_blocks(chunk_.k, cut_.depth, [&](Block block) {
      for (index tile = from; tile < to; tile += 2) {
        const index row = tile * kRows;
        const From* at = a + block.begin * p_.lda + row;
        Word<T>* packed = packed_tile(block, tile);
        if (tile + 2 <= to && row + 2 * kRows <= p_.m) {
          pack_two_tiles(at, block.depth(), packed);
        } else {
          columns<kRows>(at, p_.lda, std::min(index{kRows}, p_.m - row), block.depth(), packed);
          if (tile + 2 <= to) {
            columns<kRows>(at + kRows, p_.lda, p_.m - row - kRows, block.depth(), packed_tile(block, tile + 1));
          }
        }
      }
    });
  }
  template <class From>
  void pack_two_tiles(const From* from, index depth, Word<T>* to) const {
    constexpr index kStep = 2 * kInWord<T>;
    Word<T> both[words_of<T>(kStep)][2][kRows];
    const index second = kRows * words_of<T>(depth);
    if constexpr (std::is_same_v<T, Widened> && 2 * kRows == simd::kLanes<float>) {
      for (index k = 0; k < words_of<T>(depth); ++k) {
        const simd::Vec<float> row = k < depth ? widened(from + k * p_.lda) : simd::Vec<float>{};
        simd::store_halves(to + (k ^ 1) * kRows, to + second + (k ^ 1) * kRows, row);
      }
      return;
    }
    for (index k = 0; k < depth; k += kStep) {
      const index step = std::min(kStep, depth - k);
      columns<2 * kRows>(from + k * p_.lda, p_.lda, 2 * kRows, step, both[0][0]);
      for (index i = 0; i < words_of<T>(step); ++i, to += kRows) {
        std::memcpy(to, both[i][0], sizeof both[i][0]);
        std::memcpy(to + second, both[i][1], sizeof both[i][1]);
      }
    }
  }
  template <index kWidth, class From>
  static void columns(const From* from, index ld, index count, index depth, Word<T>* to) {
    if constexpr (std::is_same_v<T, Widened>) {
      widen_columns<kWidth>(from, ld, count, depth, to);
    } else {
      pack_columns<kWidth>(from, ld, count, depth, to);
    }
  }
  template <class From>
  void pack_rows(const From* a, index from, index to) const {
    for (index row = from * kRows; row < std::min(to * kRows, p_.m); ++row) {
      const From* const at = a + row * p_.lda + chunk_.k.begin;
      if constexpr (std::is_same_v<T, bf16>) {
        pack_row(at, chunk_.k.depth(), packed_row(row));
      } else if constexpr (std::is_same_v<T, Widened>) {
        widen_row(at, chunk_.k.depth(), packed_row(row));
      }
    }
  }

  const ProblemOf<T>& p_;
  const Cut& cut_;
  Chunk chunk_;
  Scratch<Word<T>> packed_;
};

/// A panel of op(B): in place, or in this thread's memory, which holds one block of k.
template <class T>
class PanelOfB {
 public:
  PanelOfB(const ProblemOf<T>& p, const Cut& cut, index panel)
      : p_(p), cut_(cut), panel_(panel), packed_(cut.b == ReadB::in_place ? 0 : words_of<T>(cut.depth) * kCols) {}

  /// Packs a block, unless it is read in place.
  void pack(Block block) const {
    if (cut_.b == ReadB::in_place) {
      return;
    }
    if constexpr (!std::is_same_v<T, Widened>) {
      pack(block.begin, block.end, packed_.data());
    } else if (p_.packed_b != nullptr || p_.transpose_b) {
      widen_words<kCols>(block.depth(), packed_.data(),
                         [&](index k, index count, std::uint32_t* words) { pack(block.begin + k, block.begin + k + count, words); });
    } else {
      visit(p_.b, [&](const auto* b) {
        widen_columns<kCols>(b + block.begin * p_.ldb + first(), p_.ldb, p_.n - first(), block.depth(), packed_.data());
      });
    }
  }

  /// Returns the rows of the block that was packed last, starting at its word `from`.
  Rows<Word<T>> rows(Block block, index from) const {
    if constexpr (std::is_same_v<T, float>) {
      if (cut_.b == ReadB::in_place) {
        return {p_.b + (block.begin + from) * p_.ldb + panel_ * kCols, p_.ldb};
      }
    }
    return {packed_ + from * kCols, kCols};
  }

  /// Prefetches share `part` of `parts` of the B that is packed after this block: the panel's next block of `all`, or the next panel's
  /// first.
  void prefetch_next(Block block, Block all, index part, index parts) const {
    if (cut_.b != ReadB::prefetched) {
      return;
    }
    const bool same_panel = block.end < all.end;
    const index col = (same_panel ? panel_ : panel_ + 1) * kCols;
    const index k = same_panel ? block.end : all.begin;
    const index depth = std::min(k + cut_.depth, all.end) - k;
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

 private:
  index first() const { return panel_ * kCols; }
  /// Packs k `begin` to `end` - 1.
  template <class Words>
  void pack(index begin, index end, Words* words) const {
    if (p_.packed_b != nullptr) {
      p_.transpose_b ? unpack_panels<kCols>(*p_.packed_b, first(), begin, end, words)
                     : unpack_rows<kCols>(*p_.packed_b, first(), begin, end, words);
      return;
    }
    const index count = std::min(kCols, p_.n - first());
    visit(p_.b, [&](const auto* b) {
      if (p_.transpose_b) {
        pack_rows<kCols>(b + first() * p_.ldb + begin, p_.ldb, count, end - begin, words);
      } else {
        pack_columns<kCols>(b + begin * p_.ldb + first(), p_.ldb, count, end - begin, words);
      }
    });
  }

  const ProblemOf<T>& p_;
  const Cut& cut_;
  index panel_;
  Scratch<Word<T>> packed_;
};

}  // namespace dikkat::kernels::product
