#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Returns the global norm: square root of the sum of the squares of all gradients, unwritten ones counting as zero. Not finite if any
/// gradient is not.
double gradient_norm(ParameterStore& store);

/// Returns the factor that scales gradients of global norm `norm` down to max_norm; 1 when the norm is smaller, or when max_norm is 0 (no
/// clipping). It divides by norm + 1e-6, as PyTorch's clip_grad_norm_ does. NaN if the norm is not finite: Optimizer::step() refuses that.
double clip_factor(double norm, double max_norm);

}  // namespace dikkat
