#include "train/data/examples/pair_dataset.h"

#include "autograd/base/error.h"
#include "train/data/samples/pair_samples.h"

namespace dikkat {

PairDataset::PairDataset(std::span<const Pair> pairs, const Tokenizer& tokenizer, index block_size) : store_(tokenizer, pairs) {
  require_fits(store_, pairs, block_size);
  size_.predicted_bytes = store_.target_bytes();
  for (index i = 0; i < store_.count(); ++i) {
    size_.tokens += store_.target_length(i);
  }
  if (!pairs.empty()) {
    evaluation_ = std::make_unique<PairSamples>(store_);
  }
}

std::unique_ptr<const Samples> PairDataset::training() const { return std::make_unique<PairSamples>(store_); }

TeacherPositions PairDataset::trained_targets(const std::string& key) const {
  fail_input(key, " is given, but the corpus holds pairs for an encoder-decoder: distillation is for GPT models");
}

}  // namespace dikkat
