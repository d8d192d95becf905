#include "train/data/samples/sequence_rows.h"

#include <algorithm>

namespace dikkat {

std::vector<index> first_targets(const Sequences& sequences) {
  std::vector<index> first = {0};
  first.reserve(static_cast<std::size_t>(sequences.count()) + 1);
  for (index i = 0; i < sequences.count(); ++i) {
    first.push_back(first.back() + static_cast<index>(sequences.target_weight(i)));
  }
  return first;
}

index number_targets(index first, std::span<const float> weights, std::int64_t* numbers) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    numbers[i] = weights[i] != 0 ? first++ : -1;
  }
  return first;
}

SequenceRows::SequenceRows(const Sequences& sequences) : sequences_(sequences), first_targets_(first_targets(sequences)) {
  for (index i = 0; i < sequences.count(); ++i) {
    longest_ = std::max(longest_, round_up(sequences.length(i), kRowGrain));
  }
}

RowLengths SequenceRows::lengths(index sample) const { return {.cols = round_up(sequences_.length(sample), kRowGrain)}; }

void SequenceRows::fill(index, index sample, index row, Batch& batch) const {
  const index cols = batch.lengths.cols, length = sequences_.length(sample);
  Token* inputs = batch.inputs.data() + row * cols;
  Token* targets = batch.targets.data() + row * cols;
  float* weights = batch.weights.data() + row * cols;
  sequences_.read(sample, inputs, targets, weights);
  batch.pad(row, length);
  number_targets(first_targets_[static_cast<std::size_t>(sample)], std::span(weights, static_cast<std::size_t>(cols)),
                 batch.numbers.data() + row * cols);
  batch.target_weight += sequences_.target_weight(sample);
}

}  // namespace dikkat
