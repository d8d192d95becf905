#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

/// Does what gemm() does for bf16, by the tile registers of AMX (tdpbf16ps). Call it only if has_amx_products(). An element is its base, to
/// which sums over 32 k each are added in turn (tests/kernels/reference/gemm.h: gemm_by_amx()). So its bits depend only on its row of
/// op(A), its column of op(B) and k.
void gemm_amx(const Bf16Gemm& problem);

}  // namespace dikkat::kernels
