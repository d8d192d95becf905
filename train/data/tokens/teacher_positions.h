#pragma once

#include <memory>
#include <string>

#include "train/data/training_data.h"

namespace dikkat {

/// The scored targets of a text's training part, in a fixed order. A teacher scores them in this order, and a student's batches number them
/// by it (Batch::numbers). In a stream of text (data.pack = "stream"), every token but the first is a target. Otherwise the targets of one
/// sequence follow those of the sequence before.
class TeacherPositions {
 public:
  /// Keeps references to the data. Throws InputError for several sources, for pairs of an encoder-decoder and for preferences. `key` is the
  /// key or option that wants a teacher.
  TeacherPositions(const TrainingData& data, const std::string& key);

  /// Returns the number of scored targets.
  index targets() const;
  /// Returns the sha256 of all tokens, of the bounds of sequences, and of which targets are scored.
  std::string hash() const;
  bool is_stream() const { return stream_ != nullptr; }
  /// Returns samples that score each target once, in ascending order. A stream is cut into windows of `window` tokens, and the last
  /// `stride` predictions of each window count. Other texts are read sequence by sequence, and both arguments are ignored.
  std::unique_ptr<const Samples> samples(index window, index stride) const;

 private:
  const TokenStore* stream_ = nullptr;
  const Sequences* sequences_ = nullptr;
};

/// Returns the sha256 of the texts of all tokens and the names of special ones, by which vocabularies are compared.
std::string hash_of_vocabulary(const Tokenizer& tokenizer);

}  // namespace dikkat
