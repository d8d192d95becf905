#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::bench {

/// The product by oneDNN's matmul, called plainly: one primitive for the whole product, on its own threads. Throws Error if it was
/// not found at build time.
void onednn_gemm(const kernels::Gemm<float>& product);

}  // namespace dikkat::bench
