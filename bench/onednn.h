#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::bench {

/// The product by oneDNN's matmul, called plainly: one primitive for the whole product, on its own threads. Throws Error if it was
/// not found at build time.
void onednn_gemm(const kernels::Gemm<float>& product);
/// The same of operands that are stored as bf16.
void onednn_gemm(const kernels::Bf16Gemm& product);

}  // namespace dikkat::bench
