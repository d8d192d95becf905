#pragma once

#include "autograd/kernels/gemm/gemm_batch.h"
#include "autograd/ops/op.h"

/// Products of strided matrices, for ops. This header is private to the folder.
namespace dikkat {

/// Returns the products of `batch`, of this shape, with their gradients. The matrices of a and of b cover all elements, and those of the
/// result do not overlap.
Tensor batched_product(Op op, Tensor a, Tensor b, const kernels::GemmBatch& batch, const Shape& shape);

}  // namespace dikkat
