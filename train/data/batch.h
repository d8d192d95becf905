#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// How long the rows of a batch are.
struct RowLengths {
  index cols = 0;         // T
  index source_cols = 0;  // S, of an encoder's text; 0 for GPT

  bool operator==(const RowLengths&) const = default;
};

/// The lengths of rows that can hold rows of both lengths.
inline RowLengths longer(const RowLengths& a, const RowLengths& b) {
  return {.cols = std::max(a.cols, b.cols), .source_cols = std::max(a.source_cols, b.source_cols)};
}

/// What one forward pass reads: B rows of T positions, row-major. The vectors are reused: a batch that is filled in the
/// same shape again does not allocate.
struct Batch {
  index rows = 0;              // B
  RowLengths lengths;          // T, S
  std::vector<Token> inputs;   // (B, T)
  std::vector<Token> targets;  // (B, T): what follows each input
  std::vector<float> weights;  // (B, T) of the targets in the loss; 0 on padding
  double target_weight = 0;    // sum of the weights
  double step_weight = 0;      // the same of all batches of the step: losses are divided by it

  // An encoder's text; empty for GPT.
  std::vector<Token> source;                 // (B, S), padded at the end
  std::vector<std::int32_t> source_lengths;  // (B)

  /// Sets the shape; what is in the rows is unspecified, and counts for nothing yet.
  void reshape(index new_rows, const RowLengths& new_lengths) {
    const auto size = static_cast<std::size_t>(new_rows * new_lengths.cols);
    rows = new_rows;
    lengths = new_lengths;
    inputs.resize(size);
    targets.resize(size);
    weights.resize(size);
    target_weight = 0;
    step_weight = 0;
    source.resize(static_cast<std::size_t>(new_rows * new_lengths.source_cols));
    source_lengths.resize(new_lengths.source_cols > 0 ? static_cast<std::size_t>(new_rows) : 0);
  }
};

}  // namespace dikkat
