#pragma once

#include "autograd/ops/basic.h"

namespace dikkat {

/// Normalises the last axis to mean 0 and (biased) variance 1, multiplies by gamma (cols) and adds beta (cols), which may be absent.
Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta = {}, double eps = 1e-5);

struct SumAndNorm {
  Tensor sum, norm;
};
/// sum = residual + dropout(branch) and norm = layer_norm(sum, gamma, beta), in one pass over the rows. residual and branch have the same
/// shape.
SumAndNorm add_layer_norm(Tensor residual, Tensor branch, Tensor gamma, Tensor beta = {}, const DropoutOptions& branch_dropout = {},
                          double eps = 1e-5);

}  // namespace dikkat
