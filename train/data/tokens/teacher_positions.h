#pragma once

#include <memory>
#include <string>

#include "train/data/samples/packed_samples.h"
#include "train/data/tokens/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The scored targets of a training part, in a fixed order. A teacher scores them in this order, and a student's batches have their indices
/// in it (Batch::numbers). In a stream of text (data.pack = "stream"), every token but the first is a target. Otherwise the targets of one
/// sequence come after those of the sequence before.
class TeacherPositions {
 public:
  /// Keeps a reference to the tokens of a stream.
  explicit TeacherPositions(const TokenStore& stream) : stream_(&stream) {}
  /// Keeps a reference to the sequences.
  explicit TeacherPositions(const Sequences& sequences) : sequences_(&sequences) {}

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

/// Returns the sha256 of the strings of all tokens and the names of special ones, by which vocabularies are compared.
std::string hash_of_vocabulary(const Tokenizer& tokenizer);

}  // namespace dikkat
