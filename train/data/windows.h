#pragma once

#include <cstdint>

#include "train/data/samples.h"
#include "train/data/token_store.h"

namespace dikkat {

/// A text for training: W = floor((N - 1) / T) windows of T tokens and the T that follow each of them. Window i starts at token
/// o + i * T, where the offset o in [0, (N - 1) mod T] changes from epoch to epoch.
class TrainingWindows : public Samples {
 public:
  /// Keeps a reference to the store. Throws InputError when it has fewer than T + 1 tokens; Error unless T >= 1.
  TrainingWindows(const TokenStore& store, index block_size, std::uint64_t seed);

  /// Where window 0 starts in an epoch.
  index offset(index epoch) const;

  index count() const override { return (store_.size() - 1) / block_size_; }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = block_size_}; }
  double target_weight(index) const override { return static_cast<double>(block_size_); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const TokenStore& store_;
  index block_size_;
  std::uint64_t seed_;
};

/// The whole of a text for evaluation: window w has tokens w * T to w * T + T - 1 as inputs and the ones after them as targets, from
/// the first token to the last, so each of the N - 1 predictions counts exactly once. The last window is partial where T does not
/// divide N - 1.
class SequentialWindows : public Samples {
 public:
  /// Keeps a reference to the store. Throws InputError when it has fewer than 2 tokens; Error unless block_size >= 1.
  SequentialWindows(const TokenStore& store, index block_size);

  /// N - 1, the predictions in all windows.
  index targets() const { return store_.size() - 1; }

  index count() const override { return ceil_div(targets(), block_size_); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = block_size_}; }
  double target_weight(index sample) const override;
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const TokenStore& store_;
  index block_size_;
};

}  // namespace dikkat
