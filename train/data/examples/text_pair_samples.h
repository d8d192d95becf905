#pragma once

#include <vector>

#include "train/data/examples/text_pairs.h"
#include "train/data/samples/samples.h"

namespace dikkat {

/// Rows of packed pairs, whose texts do not see each other (PackedSamples). All rows have the same number of pairs, or one less, so a step
/// compares as many pairs as it should. Long pairs share rows with short ones, so rows have about the same number of tokens. The weight of
/// a row is that number. A row may be longer than the model's context; positions count from the beginning of each text.
class TextPairSamples : public Samples {
 public:
  /// Keeps a reference to the store. A row has at most `pairs_of_row` pairs, 1 or more. Throws InputError if the store is empty.
  TextPairSamples(const TextPairStore& store, index pairs_of_row);

  /// Returns the share of positions that hold padding, if all rows are as long as the longest.
  double padding() const;

  index count() const override { return std::ssize(rows_); }
  RowLengths lengths(index sample) const override;
  RowLengths longest() const override { return longest_; }
  double target_weight(index sample) const override { return static_cast<double>(row(sample).tokens); }
  index units(index sample) const override { return std::ssize(row(sample).pairs); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  struct Row {
    std::vector<index> pairs{};
    index tokens = 0, texts = 0;
  };
  const Row& row(index sample) const;

  const TextPairStore& store_;
  std::vector<Row> rows_;
  RowLengths longest_;
};

}  // namespace dikkat
