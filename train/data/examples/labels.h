#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/data/examples/example_corpus.h"
#include "train/data/samples/read_texts.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// A text and the names of its labels: one, or any number if `is_list`.
struct LabeledText {
  std::string text;
  std::vector<std::string> labels;
  bool is_list = false;
};
using LabelCorpus = ExampleCorpus<LabeledText>;

/// Returns the column or key that data.columns names for a field, or the field itself.
std::string column_of(const std::string& field, const DataConfig& data);

/// Reads the texts and labels of files: JSONL, JSON or a table. Throws InputError, which names the file and the row, for a text that is
/// missing or blank, and for a label that is missing or not a name.
LabelCorpus read_labels(std::span<const std::string> paths, const DataConfig& data, const ClassifyConfig& classify);

/// Throws InputError for a name in data.columns that is not that of the text or the label, because no other is read.
void check_columns(const DataConfig& data, const ClassifyConfig& classify);

/// Sets the labels of a new run (ClassifyConfig) and model.classes from its texts, if it learns labels. A model that has labels keeps them.
/// Throws InputError, which names a row, if all rows have one label, if a label occurs once, or if a row has a list of labels although
/// classify.several is set to false. Throws it also for check_columns().
void settle_labels(Config& config);

/// Moves the texts for validation to the end, and returns the number of the others. Each label has the same share in both parts, up to
/// rounding, and at least one text in each. Texts with several labels count for the rarest of them. The choice depends on the seed only.
index put_stratified_last(LabelCorpus& corpus, double val_fraction, std::uint64_t seed);

/// The tokens of texts, and their labels. Texts that are longer than a window are cut at their end. As sequences, which fingerprints read,
/// a text has one scored target after its last token, whose weight is a hash of its labels.
class LabelStore : public Sequences {
 public:
  /// Encodes texts `first` to `first + count - 1` in parallel, with the tokens that the tokenizer puts around a text. Keeps no references.
  /// Throws InputError, which names the row, for a label that is not in classify.labels, and for a text that has no tokens.
  LabelStore(const LabelCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ClassifyConfig& classify, index window);

  const ReadTextStore& texts() const { return texts_; }
  index classes() const { return classes_; }
  /// Returns 1 for each label of a text, and 0 for the others.
  std::span<const float> labels(index text) const;
  /// Returns the number of texts with each label.
  std::vector<index> counts() const;

  index cut() const { return cut_; }  // number of texts that are cut
  /// Returns the place of the first text that is cut.
  const std::string& first_cut() const { return first_cut_; }

  index count() const override { return texts_.count(); }
  index length(index text) const override { return texts_.length(text); }
  double target_weight(index /*text*/) const override { return 1; }
  void read(index text, Token* inputs, Token* targets, float* weights) const override;

 private:
  ReadTextStore texts_;
  index classes_;
  std::vector<float> labels_;  // (texts, classes)
  index cut_ = 0;
  std::string first_cut_;
};

/// Packed rows of texts with labels (Batch::labels).
class LabelSamples : public ReadTextSamples {
 public:
  /// Keeps a reference to the store. Throws InputError if it is empty.
  LabelSamples(const LabelStore& store, index room) : ReadTextSamples(store.texts(), room), labels_(store) {}

  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const LabelStore& labels_;
};

/// The tokens that a classifier reads of a text: those that the tokenizer's owner would pass to a model, except that names of special
/// tokens in the text are only text.
struct ClassifiedText {
  std::vector<Token> tokens;  // at most a window
  bool is_cut = false;        // tokens at the end of the text were left out
};
ClassifiedText encode_text(const Tokenizer& tokenizer, std::string_view text, index window);

}  // namespace dikkat
