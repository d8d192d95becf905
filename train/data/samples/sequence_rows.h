#pragma once

#include <vector>

#include "train/data/samples/packed_samples.h"

namespace dikkat {

/// Returns the index of each sequence's first scored target, counted over all sequences in their order, and last the number of all targets
/// (Batch::numbers).
std::vector<index> first_targets(const Sequences& sequences);

/// Writes the indices of a row's scored targets, `first`, `first` + 1 ..., and -1 for the others. Returns the next index.
index number_targets(index first, std::span<const float> weights, std::int64_t* numbers);

/// Rows of one sequence each, in their order.
class SequenceRows : public Samples {
 public:
  /// Keeps a reference to the sequences.
  explicit SequenceRows(const Sequences& sequences);

  index count() const override { return sequences_.count(); }
  RowLengths lengths(index sample) const override;
  RowLengths longest() const override { return {.cols = longest_}; }
  double target_weight(index sample) const override { return sequences_.target_weight(sample); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const Sequences& sequences_;
  std::vector<index> first_targets_;
  index longest_ = 0;
};

}  // namespace dikkat
