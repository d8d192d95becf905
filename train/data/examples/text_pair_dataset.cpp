#include "train/data/examples/text_pair_dataset.h"

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/data/examples/text_pair_samples.h"
#include "train/system/format_numbers.h"

namespace dikkat {

TextPairDataset::TextPairDataset(const TextPairCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const Options& options)
    : pairs_of_row_(options.pairs_of_row), store_(corpus, first, count, tokenizer, options.window) {
  size_.tokens = store_.tokens();
  size_.bytes_in_memory = store_.bytes();
  const auto numbered = [&](index some, const char* one) {
    return concat(grouped_digits(some), one, some == 1 ? "" : "s", options.purpose);
  };
  if (store_.pairs() > 0) {
    auto samples = std::make_unique<TextPairSamples>(store_, pairs_of_row_);
    notes_.push_back(note_on_rows(numbered(store_.pairs(), " pair"), *samples));
    evaluation_ = std::move(samples);
  }
  if (const index cut = store_.cut(); cut > 0) {
    notes_.push_back(note_on_cut(numbered(cut, " text"), cut, options.window, options.window_key));
  }
  if (const index equal = store_.equal(); equal > 0) {
    notes_.push_back(concat(numbered(equal, " pair"), equal == 1 ? " is" : " are", " left out, because both sides are equal; the first is ",
                            store_.first_equal()));
  }
}

std::unique_ptr<const Samples> TextPairDataset::training() const { return std::make_unique<TextPairSamples>(store_, pairs_of_row_); }

TeacherPositions TextPairDataset::trained_targets(const std::string& key) const {
  fail_input(key, " is given, but the corpus holds pairs of texts: distillation is not possible with embedding.batch");
}

}  // namespace dikkat
