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

/// The product without what is added to it.
void gemm_alone(const Gemm<float>& p) {
  if (p.packed_b != nullptr) {
    gemm_packed(p);
  } else {
    is_few_rows(p) ? gemm_few_rows(p) : gemm_tiles(p);
  }
}
void gemm_alone(const Bf16Gemm& p) { gemm_tiles(p); }

bool is_for_tiles(const Gemm<float>& p) { return p.packed_b == nullptr && !is_few_rows(p); }
bool is_for_tiles(const Bf16Gemm&) { return true; }

/// Both products of p and p.plus: one after the other, unless one pass over C can compute them.
template <class Problem>
void gemm_both(const Problem& p) {
  if (p.plus != nullptr && is_for_tiles(p) && is_for_tiles(*p.plus) && gemm_tiles_of_both(p, *p.plus)) {
    return;
  }
  gemm_alone(p);
  if (p.plus != nullptr) {
    gemm_both(*p.plus);
  }
}

}  // namespace

template <>
void gemm<float>(const Gemm<float>& problem) {
  gemm_both(problem);
}

void gemm(const Bf16Gemm& problem) { gemm_both(problem); }

template <>
void gemm<double>(const Gemm<double>& problem) {
  gemm_eigen(problem);
  if (problem.plus != nullptr) {
    gemm(*problem.plus);
  }
}

template <>
void gemm<float, double>(const Gemm<float, double>& problem) {
  gemm_eigen(problem);
  if (problem.plus != nullptr) {
    gemm<float, double>(*problem.plus);
  }
}

}  // namespace dikkat::kernels
