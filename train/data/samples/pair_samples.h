#pragma once

#include "train/data/examples/pair_store.h"
#include "train/data/samples/samples.h"

namespace dikkat {

/// Pairs for an encoder-decoder, with teacher forcing. The encoder reads the source. The decoder input is the start token and the target;
/// each position predicts the next token, and the last one the end token. Rows are padded to a multiple of 8 positions, or to the longest
/// sample, so that batches have few different shapes.
class PairSamples : public Samples {
 public:
  /// Keeps a reference to the store. Throws InputError if it has no pairs.
  explicit PairSamples(const PairStore& store);

  index count() const override { return store_.count(); }
  RowLengths lengths(index sample) const override;
  RowLengths longest() const override { return {.cols = store_.longest_target(), .source_cols = store_.longest_source()}; }
  double target_weight(index sample) const override { return static_cast<double>(store_.target_length(sample)); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const PairStore& store_;
};

}  // namespace dikkat
