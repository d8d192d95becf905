#include "train/data/loader.h"

#include <limits>

#include "autograd/base/error.h"
#include "train/data/permutation.h"

namespace dikkat {
namespace {

void require_range(Loader::Range range) {
  require(range.first >= 0 && range.count >= 1 && range.first <= std::numeric_limits<index>::max() - range.count, "loader: ", range.count,
          " samples from ", range.first, " on, expected 1 or more from 0 or more on");
}

}  // namespace

Loader::Loader(const Samples& samples, std::uint64_t seed) : samples_(samples), seed_(seed) {
  require(samples.count() >= 1, "loader: there are no samples, expected 1 or more");
}

/// Calls f(epoch, sample) for each of a stretch, in order.
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

void Loader::fill(Range batch_range, Range step, Batch& batch) const {
  require_range(batch_range);
  require_range(step);
  require(step.first <= batch_range.first && batch_range.first + batch_range.count <= step.first + step.count,
          "loader: a batch that is not in its step");
  RowLengths lengths;
  double step_weight = 0;
  for_samples(step, [&](index, index sample) {
    lengths = longer(lengths, samples_.lengths(sample));
    step_weight += samples_.target_weight(sample);
  });
  batch.reshape(batch_range.count, lengths);
  batch.step_weight = step_weight;
  index row = 0;
  for_samples(batch_range, [&](index epoch, index sample) { samples_.fill(epoch, sample, row++, batch); });
}

}  // namespace dikkat
