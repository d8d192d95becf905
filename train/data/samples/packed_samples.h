#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "train/data/samples/samples.h"

namespace dikkat {

/// Sequences 0 to count() - 1, each at most as long as a row: documents or conversations.
class Sequences {
 public:
  virtual ~Sequences() = default;

  virtual index count() const = 0;
  /// Returns the number of inputs, 1 or more.
  virtual index length(index sequence) const = 0;
  /// Returns the sum of the weights of a sequence's targets.
  virtual double target_weight(index sequence) const = 0;
  /// Writes length() inputs, targets (the token after each input) and weights of the targets in the loss.
  virtual void read(index sequence, Token* inputs, Token* targets, float* weights) const = 0;
};

/// Packs sequences into rows by best-fit decreasing. Sequences are placed from longest to shortest, each into the row with the least room
/// that is enough for it (Johnson et al. 1974, "Worst-case performance bounds for simple one-dimensional packing algorithms"; Ding et al.,
/// arXiv 2404.10830). `lengths` are 1 to `row_length`. Returns the sequences of each row, in the order in which they were placed.
std::vector<std::vector<index>> pack_best_fit(std::span<const index> lengths, index row_length);

/// The rows of packed units of given lengths. All rows are as long as the fullest one, rounded up.
class PackedRows {
 public:
  /// Packs units whose lengths are 1 to `room`, at most `room` tokens into a row. Throws InputError if there are none.
  PackedRows(std::span<const index> lengths, index room);

  index count() const { return std::ssize(rows_); }
  index row_length() const { return row_length_; }
  /// Returns the units of a row. Throws Error for a row that does not exist.
  const std::vector<index>& units(index row) const;
  /// Returns the share of positions that hold padding.
  double padding() const;

 private:
  std::vector<std::vector<index>> rows_;
  index row_length_, tokens_;
};

/// Calls f(sequence, inputs, targets, weights) for each sequence, in their order. The vectors are reused.
template <class F>
void for_each_sequence(const Sequences& sequences, F&& f) {
  std::vector<Token> inputs, targets;
  std::vector<float> weights;
  for (index i = 0; i < sequences.count(); ++i) {
    const auto length = static_cast<std::size_t>(sequences.length(i));
    inputs.resize(length);
    targets.resize(length);
    weights.resize(length);
    sequences.read(i, inputs.data(), targets.data(), weights.data());
    f(i, std::as_const(inputs), std::as_const(targets), std::as_const(weights));
  }
}

/// Rows of packed sequences that do not see each other: attention stays within a sequence, and positions count from its beginning
/// (Batch::starts). So packing does not change the loss of a sequence.
class PackedSamples : public Samples {
 public:
  /// Keeps a reference to the sequences. Throws InputError if there are none.
  PackedSamples(const Sequences& sequences, index row_length);

  /// Returns the share of positions that hold padding.
  double padding() const { return rows_.padding(); }

  index count() const override { return rows_.count(); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = rows_.row_length(), .packed = true}; }
  double target_weight(index sample) const override;
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const Sequences& sequences_;
  PackedRows rows_;
  std::vector<index> first_targets_;  // first_targets() of the sequences
};

}  // namespace dikkat
