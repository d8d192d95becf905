#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "autograd/kernels/gemm.h"
#include "autograd/kernels/gemm_tiles.h"
#include "autograd/kernels/instruction_set.h"

namespace dikkat::kernels::reference {

/// The reference for kernels::gemm: C = op(A) op(B) + bias + the previous C if `add`, by plain loops.
template <class T>
void gemm(const Gemm<T>& p) {
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      T total = p.bias != nullptr ? p.bias[j] : T(0);
      for (index l = 0; l < p.k; ++l) {
        total += (p.transpose_a ? p.a[l * p.lda + i] : p.a[i * p.lda + l]) * (p.transpose_b ? p.b[j * p.ldb + l] : p.b[l * p.ldb + j]);
      }
      T& c = p.c[i * p.ldc + j];
      c = p.add ? c + total : total;
    }
  }
}

/// The sum of c and a b, rounded once.
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }

/// c + a b of bf16 as vdpbf16ps computes it: denormal numbers are taken as zero, and so is a denormal result.
inline float multiply_add(bf16 a, bf16 b, float c) {
  constexpr float kLeast = 0x1p-126F;
  const auto flushed = [](float x) { return std::abs(x) < kLeast ? std::copysign(0.0F, x) : x; };
  const float x = flushed(to_float(a)), y = flushed(to_float(b));
  const float sum = std::fma(x, y, flushed(c));
  const bool was_rounded_up =
      std::abs(sum) == kLeast && std::abs(static_cast<double>(flushed(c)) + static_cast<double>(x) * y) < 0x1p-126 - 0x1p-151;
  return was_rounded_up ? std::copysign(0.0F, sum) : flushed(sum);
}

/// A sum of products from zero: one by one. bf16 are added in pairs, the second of each pair first; an odd last one is paired with zero.
inline float sum_of_products(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t l = 0; l < a.size(); ++l) {
    sum = multiply_add(a[l], b[l], sum);
  }
  return sum;
}
inline float sum_of_products(std::span<const bf16> a, std::span<const bf16> b) {
  float sum = 0;
  for (std::size_t l = 0; l < a.size(); l += 2) {
    const bool is_pair = l + 1 < a.size();
    sum = multiply_add(is_pair ? a[l + 1] : bf16{0}, is_pair ? b[l + 1] : bf16{0}, sum);
    sum = multiply_add(a[l], b[l], sum);
  }
  return sum;
}

constexpr index kAmxDepth = 32;  // of k, whose products AMX adds at once

/// c plus the products of 32 numbers, as AMX's tdpbf16ps computes it for an element, from the pseudocode in Intel's manual. The products of
/// even places and those of odd places are added up from zero, one by one. Both sums are added, and their sum is added to c. Each step
/// rounds once, and denormal numbers and results are zero.
inline float add_products_by_amx(std::span<const bf16, kAmxDepth> a, std::span<const bf16, kAmxDepth> b, float c) {
  const auto flushed = [](float x) { return std::abs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; };
  float sums[2] = {0, 0};
  for (std::size_t l = 0; l < kAmxDepth; ++l) {
    sums[l % 2] = multiply_add(a[l], b[l], sums[l % 2]);
  }
  return flushed(flushed(c) + flushed(sums[0] + sums[1]));
}

/// gemm() in the order of the product by AMX, bit for bit: to the bias and the previous C, the products of 32 k each are added in turn.
/// Those after the last k are zero.
template <class Problem>
void gemm_by_amx(const Problem& p, const bf16* a, const bf16* b) {
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      float& c = p.c[i * p.ldc + j];
      float sum = p.bias == nullptr ? (p.add ? c : 0.0F) : p.add ? c + p.bias[j] : p.bias[j];
      for (index begin = 0; begin < p.k; begin += kAmxDepth) {
        bf16 row[kAmxDepth] = {}, column[kAmxDepth] = {};
        for (index l = begin; l < std::min(begin + kAmxDepth, p.k); ++l) {
          row[l - begin] = p.transpose_a ? a[l * p.lda + i] : a[i * p.lda + l];
          column[l - begin] = p.transpose_b ? b[j * p.ldb + l] : b[l * p.ldb + j];
        }
        sum = add_products_by_amx(row, column, sum);
      }
      c = sum;
    }
  }
}

/// gemm() in the order of our own product, bit for bit. The base is the bias and the previous C, and the sum over each block of `depth` of
/// k is added to it in turn. `a` and `b` are the operands.
template <class Problem, class T>
void gemm_in_blocks(const Problem& p, const T* a, const T* b, index depth) {
  std::vector<T> row(static_cast<std::size_t>(p.k)), column(row.size());
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      for (index l = 0; l < p.k; ++l) {
        row[static_cast<std::size_t>(l)] = p.transpose_a ? a[l * p.lda + i] : a[i * p.lda + l];
        column[static_cast<std::size_t>(l)] = p.transpose_b ? b[j * p.ldb + l] : b[l * p.ldb + j];
      }
      float& c = p.c[i * p.ldc + j];
      bool is_base = p.add;  // whether c holds something to add to
      if (p.bias != nullptr) {
        c = p.add ? c + p.bias[j] : p.bias[j];
        is_base = true;
      }
      for (index begin = 0; begin == 0 || begin < p.k; begin += depth) {
        const auto in_block = [&](const std::vector<T>& all) {
          return std::span(all).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(depth, p.k - begin)));
        };
        const float sum = sum_of_products(in_block(row), in_block(column));
        c = is_base ? c + sum : sum;
        is_base = true;
      }
    }
  }
}

/// gemm() of bf16 in the order of the product that this processor runs, bit for bit.
template <class Problem>
void gemm_of_bf16(const Problem& p, const bf16* a, const bf16* b) {
  if (has_amx_products()) {
    gemm_by_amx(p, a, b);
  } else {
    gemm_in_blocks(p, a, b, gemm_block_depth(p.k));
  }
}

}  // namespace dikkat::kernels::reference
