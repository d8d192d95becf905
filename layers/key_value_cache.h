#pragma once

#include "autograd/base/pages.h"
#include "autograd/ops/attention.h"
#include "autograd/tape/tape.h"

namespace dikkat {

/// Keys and values of earlier positions, for each layer of a stack with causal self-attention. A pass over the positions that follow then
/// computes only those. All sequences have the same length.
class KeyValueCache {
 public:
  /// Memory for `sequences` sequences of `max_positions` positions, in a stack with this number of layers; keys have `width` numbers, and
  /// values too. Throws Error if there is not enough.
  KeyValueCache(index layers, index sequences, index max_positions, index width, DType dtype = DType::f32);

  index layers() const { return layers_; }
  index sequences() const { return sequences_; }
  index max_positions() const { return max_positions_; }
  /// Positions that each sequence has.
  index length() const { return length_; }

  /// The cache of layer i, for attention().
  AttentionCache layer(index i) const;
  /// Call it when all layers have written `time` more positions. Throws Error if there is no room for them.
  void advance(index time);
  /// Removes all positions.
  void clear() { length_ = 0; }
  /// Copies sequence `of` of `from` to sequence `to`, and takes over the length of `from`. `from` is this cache, or another one of the same
  /// size. Throws Error for a sequence number out of range and for a cache of another size.
  void copy_sequence(index to, const KeyValueCache& from, index of);

  // For keys and values that are computed at once, as those of a memory. The caller knows how many a sequence has.

  /// Takes over the first positions of a sequence in layer i: k | v, (1, positions, 2 width). Throws Error where they do not fit.
  void set_rows(index i, index sequence, Tensor keys_and_values);
  /// Layer i on this tape, without a copy: (sequences, max_positions, 2 width).
  Tensor rows(Tape& tape, index i) const;

 private:
  std::byte* row(index layer, index sequence) const;
  index width() const { return static_cast<index>(row_bytes_ / size_of(dtype_)); }  // of k | v

  index layers_, sequences_, max_positions_;
  std::size_t row_bytes_;  // k | v of one position
  DType dtype_;
  Pages memory_;  // (layers, sequences, max_positions, 2 width)
  index length_ = 0;
};

}  // namespace dikkat
