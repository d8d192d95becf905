#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/dataset.h"
#include "train/data/examples/text_pairs.h"

namespace dikkat {

/// Pairs of texts for a GPT that learns vectors, in packed rows.
class TextPairDataset : public Dataset {
 public:
  struct Options {
    index window = 0;
    const char* window_key = "";  // the key that sets `window`, for notes
    index pairs_of_row = 1;
    std::string purpose{};  // the pairs' use in notes: " for training"
  };
  /// Tokenizes examples `first` to `first + count - 1`. Keeps no references. Throws what TextPairStore throws.
  TextPairDataset(const TextPairCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const Options& options);

  std::unique_ptr<const Samples> training() const override;
  const Sequences* scored() const override { return &store_; }
  TeacherPositions trained_targets(const std::string& key) const override;

  const TextPairStore& pairs() const { return store_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const index pairs_of_row_;
  TextPairStore store_;
  std::vector<std::string> notes_;
};

}  // namespace dikkat
