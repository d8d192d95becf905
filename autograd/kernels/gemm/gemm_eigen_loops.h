#pragma once

#define EIGEN_DONT_PARALLELIZE  // otherwise Eigen uses threads of its own, and the bits depend on their number
#include <algorithm>

#include <Eigen/Core>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm_eigen.h"

/// This header defines gemm_eigen(). gemm_eigen.cpp compiles it for the types that the program multiplies, bench/gemm.cpp for f32.
namespace dikkat::kernels {
namespace eigen {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Makes the order of Eigen's sums the same everywhere: it depends on the blocking, and so on the cache sizes. It is no static variable of
/// the namespace, because that would run code of this instruction set at the start of the program, on any processor.
inline void set_cache_sizes() {
  [[maybe_unused]] static const bool is_set = [] {
    Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 8 << 20);
    return true;
  }();
}

/// Returns the rows of C in a block, which one thread computes: enough blocks for some threads, and enough rows for Eigen. It depends on
/// the shape only, because Eigen's order of sums depends on the size of the product.
inline index rows_of_block(index m) {
  constexpr index kRows = 128;
  constexpr index kRowUnit = 16;
  const index blocks = m <= 2 * kRowUnit ? 1 : round_up(ceil_div(m, kRows), 4);
  return round_up(ceil_div(m, blocks), kRowUnit);
}

template <class Operand, class Sum>
void multiply_block(const Gemm<Operand, Sum>& p, index begin, index end) {
  const index rows = end - begin;
  const View<Operand> a_in_memory(p.transpose_a ? p.a + begin : p.a + begin * p.lda, p.transpose_a ? p.k : rows, p.transpose_a ? rows : p.k,
                                  Eigen::OuterStride<>(p.lda));
  const View<Operand> b_in_memory(p.b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, Eigen::OuterStride<>(p.ldb));
  const auto& a = a_in_memory.template cast<Sum>();
  const auto& b = b_in_memory.template cast<Sum>();
  Eigen::Map<RowMajor<Sum>, Eigen::Unaligned, Eigen::OuterStride<>> c(p.c + begin * p.ldc, rows, p.n, Eigen::OuterStride<>(p.ldc));
  if (!p.add) {
    c.setZero();
  }
  if (p.bias != nullptr) {
    c.rowwise() += Eigen::Map<const Eigen::Matrix<Sum, 1, Eigen::Dynamic>>(p.bias, p.n);
  }
  if (p.transpose_a && p.transpose_b) {
    c.noalias() += a.transpose() * b.transpose();
  } else if (p.transpose_a) {
    c.noalias() += a.transpose() * b;
  } else if (p.transpose_b) {
    c.noalias() += a * b.transpose();
  } else {
    c.noalias() += a * b;
  }
}

}  // namespace eigen

template <class Operand, class Sum>
void gemm_eigen(const Gemm<Operand, Sum>& problem) {
  eigen::set_cache_sizes();
  if (problem.m > 0 && problem.n > 0) {
    parallel_blocks(problem.m, eigen::rows_of_block(problem.m), Work::products(problem.m, problem.n, problem.k),
                    [&](index begin, index end) { eigen::multiply_block(problem, begin, end); });
  }
}

}  // namespace dikkat::kernels
