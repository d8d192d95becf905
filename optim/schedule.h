#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// The learning rate by step. After a linear warm-up it stays (constant) or falls from `learning_rate` to `min_lr` at
/// decay_steps, in a line or in half a cosine, and stays there (nanoGPT's get_lr).
struct Schedule {
  enum class Kind { constant, linear, cosine } kind = Kind::cosine;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  index warmup_steps = 100;
  index decay_steps = 2000;

  /// Of step `step`, which counts from 0. Warm-up gives learning_rate * (step + 1) / (warmup_steps + 1).
  double operator()(index step) const;
};

}  // namespace dikkat
