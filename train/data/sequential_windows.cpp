#include "train/data/sequential_windows.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

SequentialWindows::SequentialWindows(const TokenStore& store, index block_size) : store_(store), block_size_(block_size) {
  require(block_size >= 1, "evaluation: block_size is ", block_size, ", expected 1 or more");
  require_input(store.size() >= 2, "the text for evaluation has ", store.size(),
                " tokens, expected at least 2: give a longer text or a larger data.val_fraction");
}

void SequentialWindows::fill(index first, index rows, Batch& batch) const {
  require(first >= 0 && first < count() && rows >= 1, "evaluation: ", rows, " windows from ", first, " on, expected some of the ", count());
  batch.reshape(rows, block_size_);
  const index begin = first * block_size_;
  const index valid = std::min(rows * block_size_, targets() - begin);  // windows lie one after another, so rows do not matter here
  store_.read(begin, valid, batch.inputs.data());
  store_.read(begin + 1, valid, batch.targets.data());
  std::fill(batch.inputs.begin() + valid, batch.inputs.end(), 0);
  std::fill(batch.targets.begin() + valid, batch.targets.end(), 0);
  batch.weights.assign(batch.inputs.size(), 0.0F);
  std::fill_n(batch.weights.begin(), valid, 1.0F);
  batch.target_weight = static_cast<double>(valid);
}

}  // namespace dikkat
