#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

/// Rows of `table` (vocabulary, C) for `tokens` (B, T) of i32, plus, unless absent, row first_position + t of `positions`
/// (places, C): (B, T, C). Throws Error for a token that the table lacks, or a place past the last position.
Tensor embedding(Tensor tokens, Tensor table, Tensor positions = {}, index first_position = 0);

}  // namespace dikkat
