#include "train/data/examples/text_pair_samples.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "autograd/base/error.h"

namespace dikkat {

TextPairSamples::TextPairSamples(const TextPairStore& store, index pairs_of_row) : store_(store) {
  const index pairs = store.pairs();
  require_input(pairs > 0, "there are no pairs of texts");
  require(pairs_of_row >= 1, "pairs: ", pairs_of_row, " pairs of a row, expected 1 or more");
  const index rows = ceil_div(pairs, pairs_of_row);
  rows_.resize(static_cast<std::size_t>(rows));
  std::vector<index> order(static_cast<std::size_t>(pairs));
  std::iota(order.begin(), order.end(), index{0});
  std::ranges::stable_sort(order, [&](index a, index b) { return store.tokens_of(a) > store.tokens_of(b); });

  // Each pair, from the longest to the shortest, joins the row with the fewest tokens that has room. The first rows have one pair more, if
  // the pairs cannot be divided evenly.
  std::set<std::pair<index, index>> open;  // (tokens, row)
  for (index i = 0; i < rows; ++i) {
    open.emplace(0, i);
  }
  for (const index pair : order) {
    const index at = open.begin()->second;
    open.erase(open.begin());
    Row& row = rows_[static_cast<std::size_t>(at)];
    row.pairs.push_back(pair);
    row.tokens += store.tokens_of(pair);
    row.texts += store.first_text(pair + 1) - store.first_text(pair);
    if (std::ssize(row.pairs) < pairs / rows + (at < pairs % rows ? 1 : 0)) {
      open.emplace(row.tokens, at);
    }
  }
  for (index i = 0; i < rows; ++i) {
    longest_ = longer(longest_, lengths(i));
  }
}

const TextPairSamples::Row& TextPairSamples::row(index sample) const {
  require(0 <= sample && sample < count(), "pairs: row ", sample, ", expected 0 to ", count() - 1);
  return rows_[static_cast<std::size_t>(sample)];
}

double TextPairSamples::padding() const { return 1 - static_cast<double>(store_.tokens()) / static_cast<double>(count() * longest_.cols); }

RowLengths TextPairSamples::lengths(index sample) const {
  return {.cols = round_up(row(sample).tokens, kRowGrain), .packed = true, .texts = row(sample).texts};
}

void TextPairSamples::fill(index, index sample, index row_of_batch, Batch& batch) const {
  batch.pad(row_of_batch, 0);
  index at = 0;
  for (const index pair : row(sample).pairs) {
    const index first = store_.first_text(pair);
    for (index text = first; text < store_.first_text(pair + 1); ++text) {
      at = store_.texts().put(text, text - first, row_of_batch, at, batch);
    }
  }
  batch.units += units(sample);
  batch.target_weight += static_cast<double>(at);
}

}  // namespace dikkat
