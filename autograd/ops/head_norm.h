#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

struct HeadNormOptions {
  index heads = 1;      // heads of queries
  index key_heads = 1;  // heads of keys
  double eps = 1e-5;
};

/// Normalizes each head of queries and of keys by RMSNorm, h / sqrt(mean(h^2) + eps) * gamma, before they are compared (Henry et al., arXiv
/// 2010.04245). x (..., columns of q | k | others), q_gamma and k_gamma (head size); the other columns, such as values, are copied. With 0
/// heads of one kind, its gamma is absent. A gamma's size is that of its heads: one head of keys may have all their columns. x may be bf16;
/// the norm is computed in f32. Throws Error for shapes that do not fit.
Tensor head_norm(Tensor x, Tensor q_gamma, Tensor k_gamma, const HeadNormOptions& options);

}  // namespace dikkat
