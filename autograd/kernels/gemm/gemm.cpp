#include "autograd/kernels/gemm/gemm.h"

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/bf16_operands.h"
#include "autograd/kernels/gemm/gemm_eigen.h"
#include "autograd/kernels/gemm/gemm_row.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "autograd/kernels/gemm/packed.h"
#include "autograd/kernels/instruction_set.h"

namespace dikkat::kernels {
namespace {

constexpr index kNarrow = 16;  // columns of C: one vector, or two
constexpr index kRowsAtOnce = 512;

/// Returns whether C is so narrow that packing a transposed A for it would take as long as multiplying.
template <class Problem>
bool is_narrow(const Problem& p) {
  return p.transpose_a && p.n <= kNarrow && p.m >= 4 * kNarrow && p.packed_b == nullptr && !p.lower;
}

float* numbers(float* target) { return target; }
float* numbers(const Bf16Target& target) { return target.as_f32(); }

/// Computes a narrow product as its transpose, in which A takes the place of B: each thread then reads its part of A once. The bits are
/// equal.
template <class Problem>
void gemm_narrow(const Problem& p) {
  const Scratch<float> transposed(p.n * p.m);
  float* const c = numbers(p.c);
  const bool has_base = p.add || p.bias != nullptr;
  const auto for_rows = [&](auto&& f) { parallel_blocks(p.m, kRowsAtOnce, f); };
  // Transpose the bias and the previous C, to which the product is added.
  for_rows([&](index begin, index end) {
    for (index j = 0; j < p.n && has_base; ++j) {
      for (index i = begin; i < end; ++i) {
        const float bias = p.bias != nullptr ? p.bias[j] : 0.0F;
        transposed[j * p.m + i] = p.add ? c[i * p.ldc + j] + bias : bias;
      }
    }
  });
  // Multiply, with A in the place of B.
  Problem q{.m = p.n,
            .n = p.m,
            .k = p.k,
            .a = p.b,
            .lda = p.ldb,
            .b = p.a,
            .ldb = p.lda,
            .c = transposed.data(),
            .ldc = p.m,
            .add = has_base,
            .depth = p.depth};
  q.transpose_a = !p.transpose_b;
  gemm_tiles(q);
  // Transpose the result into C.
  for_rows([&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      for (index j = 0; j < p.n; ++j) {
        c[i * p.ldc + j] = transposed[j * p.m + i];
      }
    }
  });
}

/// Computes the product without p.plus:
///
/// | product                        | of f32                                                       | of bf16                         |
/// |--------------------------------|--------------------------------------------------------------|---------------------------------|
/// | A^T times few columns          | gemm_narrow()                                                | gemm_narrow() unless C is bf16  |
/// | few rows times B^T             | gemm_few_rows()                                              | gemm_tiles()                    |
/// | few rows times a packed B^T    | gemm_few_rows_packed()                                       | gemm_tiles()                    |
/// | other rows times a packed B    | gemm_tiles(); rounded to bf16 if that is faster and allowed  | gemm_tiles()                    |
/// | any other                      | gemm_tiles()                                                 | gemm_tiles()                    |
void gemm_alone(const Gemm<float>& p) {
  if (is_narrow(p)) {
    gemm_narrow(p);
  } else if (is_few_rows(p)) {
    p.packed_b != nullptr ? gemm_few_rows_packed(p) : gemm_few_rows(p);
  } else {
    const bool rounds = p.packed_b != nullptr && has_bf16_products() && !p.packed_b->keeps_f32;
    rounds ? gemm_tiles(with_bf16_operands(p)) : gemm_tiles(p);
  }
}
void gemm_alone(const Bf16Gemm& p) { is_narrow(p) && !p.c.is_bf16() ? gemm_narrow(p) : gemm_tiles(p); }

bool is_for_tiles(const Gemm<float>& p) { return p.packed_b == nullptr && !is_few_rows(p) && !is_narrow(p); }
bool is_for_tiles(const Bf16Gemm& p) { return !is_narrow(p); }

/// Computes the products of p and p.plus: in one pass over C where that is possible, otherwise in two.
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
