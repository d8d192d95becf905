#pragma once

#include <cstdint>
#include <vector>

#include "train/data/samples/mixture.h"
#include "train/data/samples/samples.h"

namespace dikkat {

/// Samples, and their weight in a mixture of sources.
struct WeightedSamples {
  const Samples* samples = nullptr;
  double weight = 1;
};

/// The order in which training sees its samples: a pure function of (samples, weights, seed). Each position of a run belongs to a source
/// (mixture.h). Each epoch of a source sees each of its W samples once, in the order of a keyed permutation. The p-th sample taken from the
/// source has place p mod W in epoch p / W. So the order within a source does not depend on the other sources.
class Loader {
 public:
  /// Keeps references to the samples. Throws Error if a source has no samples.
  Loader(std::vector<WeightedSamples> sources, std::uint64_t seed);
  Loader(const Samples& samples, std::uint64_t seed) : Loader(std::vector<WeightedSamples>{{.samples = &samples}}, seed) {}

  /// Returns the number of samples in all sources.
  index epoch_size() const;
  /// Returns the number of epochs of a source in the first `samples` samples of a run.
  double epochs(index source, index samples) const;
  RowLengths longest() const;

  /// A range of samples, counted from the start of the run. It may cross the end of an epoch.
  struct Range {
    index first = 0, count = 0;
  };
  /// The properties that all batches of a step share. Row lengths are those of the step's longest sample, so all batches have the same
  /// shape. `weight` is the sum of the weights of the step's targets.
  struct Step {
    Range samples;
    RowLengths lengths;
    double weight = 0;
    index units = 0;  // Samples::units() of the step's samples
  };
  /// Returns the step that consists of these samples. Throws Error unless count >= 1 and first >= 0.
  Step step(Range samples) const;
  /// Fills a batch with the samples of `range`. Throws Error if `range` is empty or not a part of `step`.
  void fill(Range range, const Step& step, Batch& batch) const;
  /// Fills the only batch of a step.
  void fill(Range range, Batch& batch) const { fill(range, step(range), batch); }

 private:
  template <class F>
  void for_samples(Range range, F&& f) const;

  std::vector<WeightedSamples> sources_;
  Mixture mixture_;
  std::uint64_t seed_;
};

}  // namespace dikkat
