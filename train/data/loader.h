#pragma once

#include <cstdint>
#include <vector>

#include "train/data/mixture.h"
#include "train/data/samples.h"

namespace dikkat {

/// Samples, and how often they are seen beside others.
struct WeightedSamples {
  const Samples* samples = nullptr;
  double weight = 1;
};

/// The order in which training sees its samples, a pure function of (samples, weights, seed). Each position of a run belongs to a source
/// (mixture.h). Each epoch of a source sees every sample of it once, in the order of a keyed permutation: its p-th sample is number p mod W
/// of epoch p / W, where it has W samples. So a source is seen in the order that it has alone.
class Loader {
 public:
  /// Keeps references to the samples. Throws Error when a source has none.
  Loader(std::vector<WeightedSamples> sources, std::uint64_t seed);
  Loader(const Samples& samples, std::uint64_t seed) : Loader(std::vector<WeightedSamples>{{.samples = &samples}}, seed) {}

  /// The samples of all sources.
  index epoch_size() const;
  /// How often a source has been seen after the first `samples` of a run.
  double epochs(index source, index samples) const;
  RowLengths longest() const;

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

  std::vector<WeightedSamples> sources_;
  Mixture mixture_;
  std::uint64_t seed_;
};

}  // namespace dikkat
