#pragma once

#include "autograd/base/index.h"
#include "train/data/batch.h"
#include "train/data/token_store.h"

namespace dikkat {

/// The whole of a text for evaluation: window w has tokens w * T to w * T + T - 1 as inputs and the ones after them as targets, from
/// the first token to the last, so each of the N - 1 predictions counts exactly once.
class SequentialWindows {
 public:
  /// Keeps a reference to the store. Throws InputError when it has fewer than 2 tokens; Error unless block_size >= 1.
  SequentialWindows(const TokenStore& store, index block_size);

  index block_size() const { return block_size_; }
  /// ceil((N - 1) / T), the last one partial where T does not divide N - 1.
  index count() const { return ceil_div(targets(), block_size_); }
  /// N - 1, the predictions in all windows.
  index targets() const { return store_.size() - 1; }

  /// Windows first to first + rows - 1 as rows of (rows, T). Weights are always written: 1, and 0 for the padding after the last
  /// prediction, where inputs and targets are 0. Windows from count() on are all padding, so that blocks of windows may keep one
  /// shape. Throws Error unless 0 <= first < count() and rows >= 1.
  void fill(index first, index rows, Batch& batch) const;

 private:
  const TokenStore& store_;
  index block_size_;
};

}  // namespace dikkat
