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

  /// A range of samples, which may cross the end of an epoch.
  struct Range {
    index first = 0, count = 0;
  };
  /// What the batches of a step share: the row lengths of the step's longest sample, so that all batches have one shape, and the weight of
  /// all targets.
  struct Step {
    Range samples;
    RowLengths lengths;
    double weight = 0;
  };
  /// Looks at each of these samples once. Throws Error unless there is at least one, and none is below 0.
  Step step(Range samples) const;
  /// The samples of `range` as rows of one of the batches that make up `step`. Throws Error unless there is at least one, and all are in
  /// the step.
  void fill(Range range, const Step& step, Batch& batch) const;
  /// A step of one batch.
  void fill(Range range, Batch& batch) const { fill(range, step(range), batch); }

 private:
  template <class F>
  void for_samples(Range range, F&& f) const;

  const Samples& samples_;
  std::uint64_t seed_;
};

}  // namespace dikkat
