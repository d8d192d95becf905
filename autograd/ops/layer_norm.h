#pragma once

#include <optional>

#include "autograd/ops/basic.h"

namespace dikkat {

struct NormOptions {
  double eps = 1e-5;
  /// The element type of the norm: that of x by default. It may be f32 or bf16 where x is either of them.
  std::optional<DType> dtype{};
  /// Use Lifetime::until_consumed for the end of a branch, which only add_layer_norm() reads. The functions that add a branch ignore it.
  Lifetime lifetime = Lifetime::until_reset;
};

/// Normalizes the last axis to mean 0 and (biased) variance 1, multiplies by gamma (cols) and adds beta (cols), which may be absent.
Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta = {}, const NormOptions& options = {});

/// Divides the last axis by the root of its mean square, x / sqrt(mean(x^2) + eps), and multiplies by gamma (cols): RMSNorm (Zhang and
/// Sennrich, arXiv 1910.07467).
Tensor rms_norm(Tensor x, Tensor gamma, const NormOptions& options = {});

struct SumAndNorm {
  Tensor sum, norm;
};
/// Computes sum = residual + dropout(branch) and norm = layer_norm(sum, gamma, beta), in one pass over the rows. residual and branch have
/// the same shape. The branch may be bf16 where the residual is f32. Releases the branch (Tape::release()).
SumAndNorm add_layer_norm(Tensor residual, Tensor branch, Tensor gamma, Tensor beta = {}, const DropoutOptions& branch_dropout = {},
                          const NormOptions& options = {});
/// Does what add_layer_norm() does, but with norm = rms_norm(sum, gamma).
SumAndNorm add_rms_norm(Tensor residual, Tensor branch, Tensor gamma, const DropoutOptions& branch_dropout = {},
                        const NormOptions& options = {});

}  // namespace dikkat
