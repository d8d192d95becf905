#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

/// Normalises the last axis to mean 0 and (biased) variance 1, then times gamma (cols) plus beta (cols), which may be absent.
Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta = {}, double eps = 1e-5);

}  // namespace dikkat
