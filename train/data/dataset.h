#pragma once

#include <memory>
#include <string>

#include "train/data/samples/samples.h"
#include "train/data/tokens/teacher_positions.h"

namespace dikkat {

/// The size of a dataset.
struct DatasetSize {
  index tokens = 0;           // tokens of the whole text; for pairs the number of predictions
  index predicted_bytes = 0;  // bytes of the predicted text (token_bytes.h): special tokens have 0 bytes, the first token is not predicted
  index documents = 0;        // documents of a text; 0 for examples
  index bytes_in_memory = 0;  // bytes of a text's tokens in memory
  index bytes_in_files = 0;   // bytes of a text's tokens in mapped files
};

/// A part of the data of a run: the training part of a source, its validation part, or a text that is only evaluated. It owns its tokens,
/// and samples refer to them, so it must outlive them.
class Dataset {
 public:
  virtual ~Dataset() = default;

  const DatasetSize& size() const { return size_; }
  /// Returns the samples of evaluations, in which each prediction occurs once; nullptr if there is nothing to predict.
  const Samples* evaluation() const { return evaluation_.get(); }
  /// Makes the samples of training. Throws InputError if there are too few tokens for one sample.
  virtual std::unique_ptr<const Samples> training() const = 0;
  /// Returns the sequences that evaluations score, in their natural order; nullptr: each row of evaluation() is one.
  virtual const Sequences* scored() const { return nullptr; }
  /// Returns the targets on which training computes a loss, for a teacher. Throws InputError, which names `key`, for data on which
  /// distillation is not possible.
  virtual TeacherPositions trained_targets(const std::string& key) const = 0;
  /// Cuts the text for evaluation into overlapping windows. The last `stride` predictions of each window count, and the others are context.
  /// Throws InputError unless this is one stream of text, and for a stride longer than a window.
  virtual void set_stride(index stride);

  /// Returns the sum of the weights of all predictions: their number, unless some are not scored.
  double targets() const;
  /// Returns the predicted bytes per prediction: bits per byte are loss / ln 2 / this. NaN if no bytes are predicted.
  double bytes_per_target() const;

 protected:
  DatasetSize size_;
  std::unique_ptr<const Samples> evaluation_;
};

}  // namespace dikkat
