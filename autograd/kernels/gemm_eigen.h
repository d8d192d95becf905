#pragma once

#include "autograd/kernels/gemm.h"

namespace dikkat::kernels {

/// gemm() by Eigen: for f64, for f64 sums of f32 operands, and for f32 as the tests' oracle.
template <class Operand, class Sum>
void gemm_eigen(const Gemm<Operand, Sum>& problem);

}  // namespace dikkat::kernels
