#include "train/data/samples/packed_samples.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "autograd/base/error.h"
#include "train/data/samples/sequence_rows.h"

namespace dikkat {
namespace {

std::vector<index> lengths_of(const Sequences& sequences) {
  std::vector<index> lengths;
  lengths.reserve(static_cast<std::size_t>(sequences.count()));
  for (index i = 0; i < sequences.count(); ++i) {
    lengths.push_back(sequences.length(i));
  }
  return lengths;
}

}  // namespace

std::vector<std::vector<index>> pack_best_fit(std::span<const index> lengths, index row_length) {
  const auto length_of = [&](index sequence) { return lengths[static_cast<std::size_t>(sequence)]; };
  std::vector<index> order(lengths.size());
  std::iota(order.begin(), order.end(), index{0});
  std::ranges::stable_sort(order, [&](index a, index b) { return length_of(a) > length_of(b); });

  std::vector<std::vector<index>> rows;
  std::set<std::pair<index, index>> open;  // (room left, row)
  for (const index sequence : order) {
    const index length = length_of(sequence);
    require(1 <= length && length <= row_length, "packing: sequence ", sequence, " has ", length, " tokens, expected 1 to ", row_length);
    index room = row_length;
    auto row = static_cast<index>(rows.size());
    if (const auto best = open.lower_bound({length, 0}); best != open.end()) {
      std::tie(room, row) = *best;
      open.erase(best);
    } else {
      rows.emplace_back();
    }
    rows[static_cast<std::size_t>(row)].push_back(sequence);
    if (room > length) {
      open.emplace(room - length, row);
    }
  }
  return rows;
}

PackedRows::PackedRows(std::span<const index> lengths, index room)
    : rows_(pack_best_fit(lengths, room)), tokens_(std::reduce(lengths.begin(), lengths.end())) {
  require_input(!rows_.empty(), "there is no text to pack");
  index longest = 0;
  for (const std::vector<index>& units : rows_) {
    index used = 0;
    for (const index unit : units) {
      used += lengths[static_cast<std::size_t>(unit)];
    }
    longest = std::max(longest, used);
  }
  row_length_ = std::min(room, round_up(longest, kRowGrain));
}

const std::vector<index>& PackedRows::units(index row) const {
  require(0 <= row && row < count(), "packing: row ", row, ", expected 0 to ", count() - 1);
  return rows_[static_cast<std::size_t>(row)];
}

double PackedRows::padding() const { return 1 - static_cast<double>(tokens_) / static_cast<double>(count() * row_length_); }

PackedSamples::PackedSamples(const Sequences& sequences, index row_length)
    : sequences_(sequences), rows_(lengths_of(sequences), row_length), first_targets_(first_targets(sequences)) {}

double PackedSamples::target_weight(index sample) const {
  double sum = 0;
  for (const index sequence : rows_.units(sample)) {
    sum += sequences_.target_weight(sequence);
  }
  return sum;
}

void PackedSamples::fill(index, index sample, index row_of_batch, Batch& batch) const {
  const index cols = batch.lengths.cols;
  Token* inputs = batch.inputs.data() + row_of_batch * cols;
  Token* targets = batch.targets.data() + row_of_batch * cols;
  float* weights = batch.weights.data() + row_of_batch * cols;
  std::int32_t* starts = batch.starts.data() + row_of_batch * cols;
  index at = 0;
  for (const index sequence : rows_.units(sample)) {
    const index length = sequences_.length(sequence);
    sequences_.read(sequence, inputs + at, targets + at, weights + at);
    std::fill_n(starts + at, length, static_cast<std::int32_t>(at));
    number_targets(first_targets_[static_cast<std::size_t>(sequence)], std::span(weights + at, static_cast<std::size_t>(length)),
                   batch.numbers.data() + row_of_batch * cols + at);
    batch.target_weight += sequences_.target_weight(sequence);
    at += length;
  }
  batch.pad(row_of_batch, at);
}

}  // namespace dikkat
