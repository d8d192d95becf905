#pragma once

#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

/// Does what gemm() does, by Eigen, for f64 and for f64 sums of f32 operands.
template <class Operand, class Sum>
void gemm_eigen(const Gemm<Operand, Sum>& problem);

}  // namespace dikkat::kernels
