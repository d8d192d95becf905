#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

/// gemm() of f32, and of bf16, by our own product. That of bf16 is gemm_amx() where the processor has AMX.
void gemm_tiles(const Gemm<float>& problem);
void gemm_tiles(const Bf16Gemm& problem);

/// Computes the product, and then the one that is added to it, while a panel of C is in the cache. The bits are those of one after the
/// other. Returns false, and does nothing, if the second has an A that is packed in several parts of k, or AMX computes it.
bool gemm_tiles_of_both(const Gemm<float>& problem, const Gemm<float>& plus);
bool gemm_tiles_of_both(const Bf16Gemm& problem, const Bf16Gemm& plus);

/// The length of the blocks of k that it sums one by one: about equal, and `most` (GemmOf's depth) or fewer. The last may be shorter.
index gemm_block_depth(index k, index most) noexcept;

}  // namespace dikkat::kernels
