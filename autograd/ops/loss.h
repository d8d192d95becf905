#pragma once

#include <optional>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// sum_i weights[i] * (log sum_v e^logits[i, v] - logits[i, targets[i]]) / normaliser: a scalar.
/// logits (..., V); targets (...) of i32 in [0, V); weights (...) of f32, or absent for 1 each. A target of weight 0 may be
/// anything. The normaliser is by default the number of targets; when a step's batch comes in several pieces it is the whole
/// step's, so that the pieces' losses and gradients add up to the batch's.
Tensor cross_entropy(Tensor logits, Tensor targets, Tensor weights = {}, std::optional<double> normaliser = {});

}  // namespace dikkat
