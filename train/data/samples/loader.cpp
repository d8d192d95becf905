#include "train/data/samples/loader.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "autograd/base/error.h"
#include "train/data/samples/permutation.h"

namespace dikkat {
namespace {

void require_range(Loader::Range range) {
  require(range.first >= 0 && range.count >= 1 && range.first <= std::numeric_limits<index>::max() - range.count, "loader: ", range.count,
          " samples from sample ", range.first, ", expected 1 or more samples from sample 0 or later");
}

std::vector<double> weights_of(const std::vector<WeightedSamples>& sources) {
  std::vector<double> weights;
  for (const WeightedSamples& source : sources) {
    weights.push_back(source.weight);
  }
  return weights;
}

}  // namespace

Loader::Loader(std::vector<WeightedSamples> sources, std::uint64_t seed)
    : sources_(std::move(sources)), mixture_(weights_of(sources_)), seed_(seed) {
  for (const WeightedSamples& source : sources_) {
    require(source.samples->count() >= 1, "loader: there are no samples, expected 1 or more");
  }
}

index Loader::epoch_size() const {
  return std::accumulate(sources_.begin(), sources_.end(), index{0},
                         [](index sum, const WeightedSamples& source) { return sum + source.samples->count(); });
}

double Loader::epochs(index source, index samples) const {
  return static_cast<double>(mixture_.taken(source, samples)) /
         static_cast<double>(sources_[static_cast<std::size_t>(source)].samples->count());
}

RowLengths Loader::longest() const {
  return std::accumulate(sources_.begin(), sources_.end(), RowLengths(), [](const RowLengths& lengths, const WeightedSamples& source) {
    return longer(lengths, source.samples->longest());
  });
}

/// Calls f(samples, epoch, sample) for each sample of a range, in order.
template <class F>
void Loader::for_samples(Range range, F&& f) const {
  std::optional<Permutation> order;
  index source = -1, epoch = -1;  // the source and the epoch that `order` belongs to
  for (index at = range.first; at < range.first + range.count; ++at) {
    const Mixture::Place place = mixture_.at(at);
    const Samples& samples = *sources_[static_cast<std::size_t>(place.source)].samples;
    const index size = samples.count();
    if (place.source != source || place.number / size != epoch) {
      source = place.source;
      epoch = place.number / size;
      order.emplace(size, seed_, static_cast<std::uint64_t>(epoch));
    }
    f(samples, epoch, (*order)(place.number % size));
  }
}

Loader::Step Loader::step(Range samples) const {
  require_range(samples);
  Step step{.samples = samples, .lengths = {}};
  for_samples(samples, [&](const Samples& source, index, index sample) {
    step.lengths = longer(step.lengths, source.lengths(sample));
    step.weight += source.target_weight(sample);
    step.units += source.units(sample);
  });
  return step;
}

void Loader::fill(Range range, const Step& step, Batch& batch) const {
  require_range(range);
  require(step.samples.first <= range.first && range.first + range.count <= step.samples.first + step.samples.count,
          "loader: a batch that is not part of its step");
  batch.reshape(range.count, step.lengths);
  batch.step_weight = step.weight;
  batch.step_units = step.units;
  index row = 0;
  for_samples(range, [&](const Samples& source, index epoch, index sample) {
    source.fill(epoch, sample, row, batch);
    if (batch.lengths.packed && !source.lengths(sample).packed) {  // a row with one sequence, in a batch of packed rows
      std::fill_n(batch.starts.begin() + row * batch.lengths.cols, batch.lengths.cols, 0);
    }
    ++row;
  });
}

}  // namespace dikkat
