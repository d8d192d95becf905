#include "autograd/kernels/gemm.h"

#include "autograd/kernels/gemm_eigen.h"
#include "autograd/kernels/gemm_row.h"
#include "autograd/kernels/gemm_tiles.h"

namespace dikkat::kernels {

template <>
void gemm<float>(const Gemm<float>& problem) {
  is_few_rows(problem) ? gemm_few_rows(problem) : gemm_tiles(problem);
}

void gemm(const Bf16Gemm& problem) { gemm_tiles(problem); }

template <>
void gemm<double>(const Gemm<double>& problem) {
  gemm_eigen(problem);
}

template <>
void gemm<float, double>(const Gemm<float, double>& problem) {
  gemm_eigen(problem);
}

}  // namespace dikkat::kernels
