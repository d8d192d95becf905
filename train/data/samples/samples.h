#pragma once

#include "train/data/samples/batch.h"

namespace dikkat {

/// Row lengths are rounded up to a multiple of this, so that batches have few shapes.
inline constexpr index kRowGrain = 8;

/// A data set of numbered samples. Each becomes a row of a batch.
class Samples {
 public:
  virtual ~Samples() = default;

  virtual index count() const = 0;
  /// Returns the row lengths that a sample needs. Throws Error unless 0 <= sample < count().
  virtual RowLengths lengths(index sample) const = 0;
  /// Returns row lengths that are enough for any sample.
  virtual RowLengths longest() const = 0;
  /// Returns the sum of a sample's weights in the loss.
  virtual double target_weight(index sample) const = 0;
  /// Returns the number of units in a sample: of pairs or judged answers, or of units of texts; 0 for other samples.
  virtual index units(index /*sample*/) const { return 0; }
  /// Writes a sample, with padding, into a row of a batch, and adds its weight to the batch's target_weight. The row must be long enough.
  /// Samples may differ from epoch to epoch.
  virtual void fill(index epoch, index sample, index row, Batch& batch) const = 0;
};

}  // namespace dikkat
