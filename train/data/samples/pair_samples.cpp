#include "train/data/samples/pair_samples.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

index padded(index length, index longest) { return std::min(round_up(length, kRowGrain), longest); }

}  // namespace

PairSamples::PairSamples(const PairStore& store) : store_(store) {
  require_input(store.count() >= 1, "there are no pairs, expected at least one line SOURCE<TAB>TARGET");
}

RowLengths PairSamples::lengths(index sample) const {
  return {.cols = padded(store_.target_length(sample), store_.longest_target()),
          .source_cols = padded(store_.source_length(sample), store_.longest_source())};
}

void PairSamples::fill(index, index sample, index row, Batch& batch) const {
  const SequenceTokens& special = store_.special_tokens();
  const index length = store_.target_length(sample);
  const index cols = batch.lengths.cols;
  Token* inputs = batch.inputs.data() + row * cols;
  Token* targets = batch.targets.data() + row * cols;
  float* weights = batch.weights.data() + row * cols;
  store_.read_target(sample, targets);
  targets[length - 1] = special.end;
  inputs[0] = special.start;
  std::copy_n(targets, length - 1, inputs + 1);
  std::fill_n(weights, length, 1.0F);
  batch.pad(row, length, special.pad);
  batch.target_weight += static_cast<double>(length);

  const index source_cols = batch.lengths.source_cols;
  const index source_length = store_.source_length(sample);
  Token* source = batch.source.data() + row * source_cols;
  store_.read_source(sample, source);
  std::fill(source + source_length, source + source_cols, special.pad);
  batch.source_lengths[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(source_length);
}

}  // namespace dikkat
