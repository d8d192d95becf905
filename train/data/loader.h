#pragma once

#include <cstdint>

#include "train/data/samples.h"

namespace dikkat {

/// The order in which training sees its samples, a pure function of (samples, seed). Each epoch sees every sample once, in the order of a
/// keyed permutation. The p-th sample of a run is number p mod W of epoch p / W, where W = samples.count().
class Loader {
 public:
  /// Keeps a reference to the samples. Throws Error when there are none.
  Loader(const Samples& samples, std::uint64_t seed);

  /// W.
  index epoch_size() const { return samples_.count(); }
  RowLengths longest() const { return samples_.longest(); }

  /// A range of samples, counted from the start of the run. It may cross the end of an epoch.
  struct Range {
    index first = 0, count = 0;
  };
  /// What the batches of a step share: row lengths, which are those of the step's longest sample, so that all batches have the same shape;
  /// and the weight of all targets.
  struct Step {
    Range samples;
    RowLengths lengths;
    double weight = 0;
  };
  /// The step that consists of these samples. Throws Error unless count >= 1 and first >= 0.
  Step step(Range samples) const;
  /// Fills a batch with the samples of `range`, which must be a part of `step`. Throws Error otherwise, and unless count >= 1.
  void fill(Range range, const Step& step, Batch& batch) const;
  /// The same for a step of one batch.
  void fill(Range range, Batch& batch) const { fill(range, step(range), batch); }

 private:
  template <class F>
  void for_samples(Range range, F&& f) const;

  const Samples& samples_;
  std::uint64_t seed_;
};

}  // namespace dikkat
