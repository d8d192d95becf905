#include "autograd/kernels/gemm.h"

#include "autograd/kernels/gemm_eigen.h"
#include "autograd/kernels/gemm_row.h"
#include "autograd/kernels/gemm_tiles.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/kernels/packed.h"

namespace dikkat::kernels {
namespace {

void gemm_packed(const Gemm<float>& p) {
  if (is_few_rows(p)) {
    gemm_few_rows_packed(p);
  } else if (has_bf16_products() && !p.packed_b->keeps_f32) {
    gemm_tiles(Bf16Gemm{.m = p.m,
                        .n = p.n,
                        .k = p.k,
                        .a = p.a,
                        .lda = p.lda,
                        .transpose_a = p.transpose_a,
                        .transpose_b = p.transpose_b,
                        .c = p.c,
                        .ldc = p.ldc,
                        .add = p.add,
                        .bias = p.bias,
                        .packed_b = p.packed_b});
  } else {
    gemm_tiles(p);
  }
}

}  // namespace

template <>
void gemm<float>(const Gemm<float>& problem) {
  if (problem.packed_b != nullptr) {
    gemm_packed(problem);
  } else {
    is_few_rows(problem) ? gemm_few_rows(problem) : gemm_tiles(problem);
  }
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
