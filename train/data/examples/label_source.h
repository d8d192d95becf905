#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/config/classify_config.h"
#include "train/data/corpus/opened_source.h"
#include "train/data/examples/labels.h"

namespace dikkat {

/// Texts with labels, in packed rows.
class LabelDataset : public Dataset {
 public:
  /// Encodes texts `first` to `first + count - 1` of the corpus (LabelStore). Keeps no references. `purpose` is the use of the texts in
  /// notes: " for training".
  LabelDataset(const LabelCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ClassifyConfig& classify,
               const DataConfig& data, const std::string& purpose);

  const LabelStore& store() const { return store_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::unique_ptr<const Samples> training() const override { return std::make_unique<LabelSamples>(store_, window_); }
  const Sequences* scored() const override { return &store_; }
  TeacherPositions trained_targets(const std::string& key) const override;

 private:
  const index window_;
  LabelStore store_;
  std::vector<std::string> notes_;
};

/// Reads the texts and labels once. Throws InputError for files that cannot be read, and if the tokenizer is not known.
std::unique_ptr<OpenedSource> open_labels(const DataConfig& data, const ClassifyConfig& classify, const SourceReading& reading);

/// Reads whole files for evaluation, without a split.
LoadedText evaluation_of_labels(const DataConfig& data, const ClassifyConfig& classify, const Tokenizer& tokenizer,
                                const std::vector<std::string>& paths);

}  // namespace dikkat
