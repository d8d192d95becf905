#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// The learning rate by step. After a linear warm-up it stays (constant) or falls from `learning_rate` to `min_lr` at
/// decay_steps, in a line or in half a cosine, and stays there (nanoGPT's get_lr).
///
/// inverse_sqrt is equation 3 of Vaswani et al. (arXiv 1706.03762), written by its peak: with s = step + 1 the rate is
/// learning_rate * min(s / warmup_steps, sqrt(warmup_steps / s)), where theirs has learning_rate = (d_model * warmup_steps)^-0.5.
/// It needs a warm-up; min_lr and decay_steps play no part.
struct Schedule {
  enum class Kind { constant, linear, cosine, inverse_sqrt } kind = Kind::cosine;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  index warmup_steps = 100;
  index decay_steps = 2000;

  /// Of step `step`, which counts from 0. Warm-up gives learning_rate * (step + 1) / (warmup_steps + 1), but see inverse_sqrt.
  /// Throws Error for inverse_sqrt without warm-up.
  double operator()(index step) const;
};

}  // namespace dikkat
