#include "train/data/loader.h"

#include <limits>

#include "autograd/base/error.h"
#include "train/data/permutation.h"

namespace dikkat {
namespace {

void require_range(Loader::Range range) {
  require(range.first >= 0 && range.count >= 1 && range.first <= std::numeric_limits<index>::max() - range.count, "loader: ", range.count,
          " samples from ", range.first, " on, expected 1 or more samples from 0 or higher");
}

}  // namespace

Loader::Loader(const Samples& samples, std::uint64_t seed) : samples_(samples), seed_(seed) {
  require(samples.count() >= 1, "loader: there are no samples, expected 1 or more");
}

/// Calls f(epoch, sample) for each sample of a range, in order.
template <class F>
void Loader::for_samples(Range range, F&& f) const {
  const index size = epoch_size();
  const index end = range.first + range.count;
  for (index at = range.first; at < end;) {
    const index epoch = at / size;
    const Permutation order(size, seed_, static_cast<std::uint64_t>(epoch));
    for (index rank = at % size; rank < size && at < end; ++rank, ++at) {
      f(epoch, order(rank));
    }
  }
}

Loader::Step Loader::step(Range samples) const {
  require_range(samples);
  Step step{.samples = samples, .lengths = {}};
  for_samples(samples, [&](index, index sample) {
    step.lengths = longer(step.lengths, samples_.lengths(sample));
    step.weight += samples_.target_weight(sample);
  });
  return step;
}

void Loader::fill(Range range, const Step& step, Batch& batch) const {
  require_range(range);
  require(step.samples.first <= range.first && range.first + range.count <= step.samples.first + step.samples.count,
          "loader: a batch that is not part of its step");
  batch.reshape(range.count, step.lengths);
  batch.step_weight = step.weight;
  index row = 0;
  for_samples(range, [&](index epoch, index sample) { samples_.fill(epoch, sample, row++, batch); });
}

}  // namespace dikkat
