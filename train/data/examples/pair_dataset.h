#pragma once

#include <memory>
#include <span>
#include <string>

#include "train/data/dataset.h"
#include "train/data/examples/pair_store.h"

namespace dikkat {

/// Pairs of texts for an encoder-decoder.
class PairDataset : public Dataset {
 public:
  /// Tokenizes the pairs. Throws InputError, which names the file and the line, for a pair that is longer than `block_size` tokens, the
  /// longest that the model reads (model.block_size).
  PairDataset(std::span<const Pair> pairs, const Tokenizer& tokenizer, index block_size);

  std::unique_ptr<const Samples> training() const override;
  TeacherPositions trained_targets(const std::string& key) const override;

  const PairStore& pairs() const { return store_; }

 private:
  const PairStore store_;
};

}  // namespace dikkat
