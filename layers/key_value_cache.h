#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "autograd/base/pages.h"
#include "autograd/ops/attention.h"
#include "autograd/tape/tape.h"

namespace dikkat {

/// Keys and values of earlier positions, for each layer of a stack with causal self-attention. A pass over the next positions then computes
/// only those. Each sequence has its own length.
class KeyValueCache {
 public:
  /// Makes a cache for `sequences` sequences of at most `max_positions` positions, in a stack with this number of layers. Keys and values
  /// have `width` numbers each. At first there is memory for `first_positions` positions (by default for all), and reserve() makes more.
  /// Throws Error if there is not enough.
  KeyValueCache(index layers, index sequences, index max_positions, index width, DType dtype = DType::f32, index first_positions = 0);

  /// Makes room for `positions` positions of each sequence, by doubling it until it is enough. The contents move, so pointers from layer()
  /// and rows() become invalid. Throws Error for more than max_positions(), and if there is not enough memory.
  void reserve(index positions);

  index layers() const { return layers_; }
  index sequences() const { return std::ssize(lengths_); }
  index max_positions() const { return max_positions_; }
  /// Returns the number of positions that a sequence has. Throws Error for a sequence index out of range.
  index length(index sequence = 0) const;
  /// Returns the position of the token of a sequence's next row: its length plus the positions that drop_oldest() has removed.
  index next_position(index sequence = 0) const { return length(sequence) + dropped_[static_cast<std::size_t>(sequence)]; }
  /// Returns the largest length of the first `sequences` sequences. Throws Error if there are fewer.
  index longest(index sequences) const;
  DType dtype() const { return dtype_; }
  /// Returns the number of positions of a sequence that there is memory for.
  index capacity() const { return capacity_; }
  /// Returns the bytes of a sequence's keys and values of `positions` positions.
  std::size_t bytes(index positions) const { return static_cast<std::size_t>(layers_ * positions) * row_bytes_; }

  /// Returns the rows of a sequence in layer i, for attention().
  CachedRows layer(index i, index sequence) const;
  /// Advances a sequence by `time` positions, when all layers have written them. Throws Error if the cache is too small for them.
  void advance(index sequence, index time);
  /// Removes all positions.
  void clear();
  /// Removes the positions of a sequence after the first `length`. Throws Error for one that has fewer.
  void truncate(index sequence, index length);
  /// Removes the first `count` positions of a sequence. The others keep their keys and values, which have seen those that are removed, so
  /// later positions still count from the first. Throws Error for a sequence that has fewer.
  void drop_oldest(index sequence, index count);
  /// Copies sequence `of` of `from` to sequence `to`, with its length. `from` may be this cache or another one with sequences of this size.
  /// Throws Error for a sequence index out of range and for a cache of another size.
  void copy_sequence(index to, const KeyValueCache& from, index of);
  /// Appends `count` positions of sequence `of` of `from`, starting at `begin`, to sequence `to`. `from` is another cache with rows of this
  /// size. Throws Error for positions that `from` does not have, where there is no room for them, and for sequences from which positions
  /// were dropped.
  void append_positions(index to, const KeyValueCache& from, index of, index begin, index count);

  // The following functions are for keys and values that are computed at once, such as those of an encoder's output. The caller knows how
  // many a sequence has.

  /// Copies the first positions of a sequence to layer i: k | v, (1, positions, 2 width). Throws Error if they do not fit.
  void set_rows(index i, index sequence, Tensor keys_and_values);
  /// Returns layer i on this tape, without a copy: (sequences, positions that there is memory for, 2 width).
  Tensor rows(Tape& tape, index i) const;

 private:
  std::byte* row(index layer, index sequence) const;
  index width() const { return static_cast<index>(row_bytes_ / size_of(dtype_)); }  // columns of k | v

  index layers_, max_positions_;
  index capacity_;         // positions that there is memory for
  std::size_t row_bytes_;  // k | v of one position
  DType dtype_;
  std::vector<std::int32_t> lengths_;  // (sequences)
  std::vector<std::int32_t> dropped_;  // (sequences): positions that drop_oldest() has removed
  Pages memory_;                       // (layers, sequences, capacity, 2 width)
};

/// The sequences whose tokens a pass reads: row b of the pass continues sequence b here. They may lie in several caches, which must stay
/// where they are meanwhile.
class CachedSequences {
 public:
  /// Takes the first `count` sequences of a cache. Throws Error if there are fewer.
  CachedSequences(KeyValueCache& cache, index count);
  /// Takes sequence 0 of each of these caches, which differ, and have as many layers and rows of the same size.
  explicit CachedSequences(std::span<KeyValueCache* const> caches);

  index layers() const { return layers_; }
  index count() const { return std::ssize(sequences_); }
  /// Returns the largest of their lengths.
  index longest() const;
  /// Returns the positions of the next tokens: i32 (count).
  Tensor next_positions(Tape& tape) const;

  /// Makes room for `time` more positions of each sequence. Call it before layer().
  void reserve(index time);
  /// Returns the cache of layer i, for attention().
  AttentionCache layer(index i) const;
  /// Advances each sequence by `time` positions, when all layers have written them.
  void advance(index time);

 private:
  struct Sequence {
    KeyValueCache* cache;
    index number;
  };
  std::vector<Sequence> sequences_;
  index layers_;
  DType dtype_;
  std::vector<CachedRows> rows_;  // (layers, count), once reserve() was called
};

}  // namespace dikkat
