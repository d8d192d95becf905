#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

struct EmbeddingOptions {
  Tensor positions{};  // (max_positions, C): a parameter, or a tensor without gradient; absent: nothing is added
  Tensor first{};      // i32 (B): the row of `positions` for t = 0 of each sequence; absent: 0
  double scale = 1;    // factor of the table's rows, such as sqrt(C) (Vaswani et al., arXiv 1706.03762, section 3.4)
};

/// Returns y[b, t] = scale * table[tokens[b, t]] + positions[first[b] + t]: `tokens` (B, T) of i32 and `table` (vocabulary, C) to (B, T,
/// C). Throws Error for a token that is not in the table, and for a sequence that goes past the last position.
Tensor embedding(Tensor tokens, Tensor table, const EmbeddingOptions& options = {});

}  // namespace dikkat
