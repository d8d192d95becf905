#pragma once

#include "train/data/batch.h"

namespace dikkat {

/// What batches are made of: numbered samples, each a row of a batch.
class Samples {
 public:
  virtual ~Samples() = default;

  virtual index count() const = 0;
  /// Of the shortest row that holds a sample. Throws Error unless 0 <= sample < count().
  virtual RowLengths lengths(index sample) const = 0;
  /// Of a row that holds any.
  virtual RowLengths longest() const = 0;
  /// The sum of a sample's weights in the loss.
  virtual double target_weight(index sample) const = 0;
  /// Writes a sample into a row of a batch that is long enough, pads it, and adds to the batch's target_weight. Where samples differ
  /// from epoch to epoch, it is that of `epoch`.
  virtual void fill(index epoch, index sample, index row, Batch& batch) const = 0;
};

}  // namespace dikkat
