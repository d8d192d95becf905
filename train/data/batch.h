#pragma once

#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// What one forward pass reads: B rows of T positions, row-major. The vectors are used again by every fill, so a batch that is
/// filled in the same shape allocates once.
struct Batch {
  index rows = 0;              // B
  index cols = 0;              // T
  std::vector<Token> inputs;   // (B, T)
  std::vector<Token> targets;  // (B, T): what follows each input
  std::vector<float> weights;  // (B, T) of the targets in the loss, or empty: all 1
  double target_weight = 0;    // sum of the weights: what the loss is divided by

  // An encoder's text; empty for GPT.
  std::vector<Token> source;          // (B, S), rows padded to the longest
  std::vector<index> source_lengths;  // (B)

  const float* weights_or_null() const { return weights.empty() ? nullptr : weights.data(); }

  /// Sets the shape of inputs and targets, whose contents are unspecified; weights are all 1.
  void reshape(index new_rows, index new_cols) {
    const auto size = static_cast<std::size_t>(new_rows * new_cols);
    rows = new_rows;
    cols = new_cols;
    inputs.resize(size);
    targets.resize(size);
    weights.clear();
    target_weight = static_cast<double>(size);
    source.clear();
    source_lengths.clear();
  }
};

}  // namespace dikkat
