#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/data/samples.h"

namespace dikkat {

/// Numbered sequences, each shorter than a row or as long: documents, or conversations.
class Sequences {
 public:
  virtual ~Sequences() = default;

  virtual index count() const = 0;
  /// The number of inputs, 1 or more.
  virtual index length(index sequence) const = 0;
  /// The sum of the weights of its targets.
  virtual double target_weight(index sequence) const = 0;
  /// Writes length() inputs, the token after each, and the weight of each in the loss.
  virtual void read(index sequence, Token* inputs, Token* targets, float* weights) const = 0;
};

/// Which sequences share a row: best-fit decreasing. The longest sequence comes first, and each goes into the row with the least room that
/// is enough for it (Johnson et al. 1974, "Worst-case performance bounds for simple one-dimensional packing algorithms"; Ding et al., arXiv
/// 2404.10830). `lengths` are 1 to `row_length`. Rows and their sequences are in the order in which they were begun and put.
std::vector<std::vector<index>> pack_best_fit(std::span<const index> lengths, index row_length);

/// Rows of sequences that see nothing of each other: attention stays within each, and its positions count from its own beginning
/// (Batch::starts). So each sequence has the loss that it has alone.
class PackedSamples : public Samples {
 public:
  /// Keeps a reference to the sequences. Throws InputError if there are none.
  PackedSamples(const Sequences& sequences, index row_length);

  /// The share of positions that hold no token.
  double padding() const;

  index count() const override { return static_cast<index>(rows_.size()); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = row_length_, .packed = true}; }
  double target_weight(index sample) const override;
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const std::vector<index>& row(index sample) const;

  const Sequences& sequences_;
  index row_length_;
  std::vector<std::vector<index>> rows_;
};

}  // namespace dikkat
