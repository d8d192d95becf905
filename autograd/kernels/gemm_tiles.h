#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::kernels {

/// gemm() of f32, and of bf16, by our own product.
void gemm_tiles(const Gemm<float>& problem);
void gemm_tiles(const Bf16Gemm& problem);

/// The length of the blocks of k that it sums one by one. The last may be shorter.
index gemm_block_depth(index k) noexcept;

}  // namespace dikkat::kernels
