#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Square root of the sum of the squares of all gradients, unwritten ones counting as zero. NaN or infinite if any of them is.
double gradient_norm(ParameterStore& store);

/// The factor that brings a gradient of that norm down to max_norm; 1 when it is below, or when max_norm is 0 (no clipping).
/// As PyTorch's clip_grad_norm_, whose divisor is norm + 1e-6.
double clip_factor(double norm, double max_norm);

}  // namespace dikkat
