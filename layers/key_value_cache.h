#pragma once

#include "autograd/base/pages.h"
#include "autograd/ops/attention.h"

namespace dikkat {

/// Keys and values of the positions that a stack of causal self-attention has read, layer by layer: a pass over the positions that follow
/// computes those alone. All sequences have the same length.
class KeyValueCache {
 public:
  /// Room for `sequences` sequences of `places` positions, in a stack of so many layers and width C. Throws Error where there is no such
  /// memory.
  KeyValueCache(index layers, index sequences, index places, index width, DType dtype = DType::f32);

  index layers() const { return layers_; }
  index sequences() const { return sequences_; }
  index places() const { return places_; }
  /// Positions that each sequence has.
  index length() const { return length_; }

  /// What attention of a layer is to be told.
  AttentionCache layer(index i) const;
  /// All layers have written `time` positions more. Throws Error where there is no room for them.
  void advance(index time);
  /// Forgets every position.
  void clear() { length_ = 0; }
  /// Sequence `to` becomes what sequence `of` is in `from` (this one or another of the same layers, places and width), and the length
  /// that of `from`. Throws Error for sequences that are not there, and for another cache of other sizes.
  void copy_sequence(index to, const KeyValueCache& from, index of);

 private:
  std::byte* row(index layer, index sequence) const;

  index layers_, sequences_, places_;
  std::size_t row_bytes_;  // k | v of one position
  DType dtype_;
  Pages memory_;  // (layers, sequences, places, 2 C)
  index length_ = 0;
};

}  // namespace dikkat
