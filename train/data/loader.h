#pragma once

#include <cstdint>

#include "train/data/samples.h"

namespace dikkat {

/// The order in which training sees its samples, as a pure function of (samples, seed): an epoch sees each once, in the order of a
/// keyed permutation. Sample p, counted from the start of the run, is the one of rank p mod W in epoch p / W, W = samples.count().
class Loader {
 public:
  /// Keeps a reference to the samples. Throws Error when there are none.
  Loader(const Samples& samples, std::uint64_t seed);

  /// W.
  index epoch_size() const { return samples_.count(); }
  RowLengths longest() const { return samples_.longest(); }

  /// A stretch of samples, which may run over the end of an epoch.
  struct Range {
    index first = 0, count = 0;
  };
  /// The samples of `batch_range` as rows, one of the batches that make up `step`: rows are as long as the step's longest sample
  /// wants, so that a step's batches have one shape, and step_weight is the step's. Throws Error unless both begin at 0 or later, have
  /// 1 or more, and the batch is in the step.
  void fill(Range batch_range, Range step, Batch& batch) const;
  /// A step of one batch.
  void fill(Range range, Batch& batch) const { fill(range, range, batch); }

 private:
  template <class F>
  void for_samples(Range range, F&& f) const;

  const Samples& samples_;
  std::uint64_t seed_;
};

}  // namespace dikkat
