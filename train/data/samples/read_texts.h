#pragma once

#include <span>
#include <vector>

#include "train/data/samples/packed_samples.h"
#include "train/data/samples/samples.h"

namespace dikkat {

/// The tokens of texts 0 to count() - 1, which a model only reads: it predicts nothing in them.
class ReadTextStore {
 public:
  /// Appends a text of 1 or more tokens. Throws Error for none.
  void append(std::span<const Token> text);

  index count() const { return std::ssize(begins_) - 1; }
  /// Returns the number of tokens of all texts.
  index tokens() const { return std::ssize(tokens_); }
  index length(index text) const { return begins_[static_cast<std::size_t>(text) + 1] - begins_[static_cast<std::size_t>(text)]; }
  std::span<const Token> text(index text) const;
  /// Writes a text to a row of a batch, at position `at` of the row, and lists it in Batch::texts. Returns the next position.
  index put(index text, index place, index row, index at, Batch& batch) const;
  index bytes() const {
    return std::ssize(tokens_) * static_cast<index>(sizeof(Token)) + std::ssize(begins_) * static_cast<index>(sizeof(index));
  }

 private:
  std::vector<Token> tokens_;
  std::vector<index> begins_{0};  // the first token of each text, and the number of all
};

/// Rows of packed texts that do not see each other (PackedSamples). Each text is a unit. No target counts. The weight of a row is the
/// number of its tokens, so steps and evaluations report how many they have read.
class ReadTextSamples : public Samples {
 public:
  /// Keeps a reference to the store, and packs at most `room` tokens into a row. Throws InputError if the store is empty, and Error if a
  /// text is longer than `room`.
  ReadTextSamples(const ReadTextStore& store, index room);

  /// Returns the share of positions that hold padding.
  double padding() const { return rows_.padding(); }

  index count() const override { return rows_.count(); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = rows_.row_length(), .packed = true, .texts = most_texts_}; }
  double target_weight(index sample) const override;
  index units(index sample) const override { return std::ssize(rows_.units(sample)); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const ReadTextStore& store_;
  PackedRows rows_;
  index most_texts_ = 0;  // of a row
};

}  // namespace dikkat
