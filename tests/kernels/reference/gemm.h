#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
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

/// The sum of c and a b, rounded once if the kernels that run here fuse, else twice. A build that has both kinds is compiled for processors
/// that do not fuse, so its compiler does not fuse the plain expression.
inline float multiply_add(float a, float b, float c) { return fuses_multiply_adds() ? std::fma(a, b, c) : a * b + c; }

/// c + a b of bf16 as vdpbf16ps computes it: denormal numbers are taken as zero, and so is a denormal result. Without fusing, denormal and
/// infinite products differ; all others are exact.
inline float multiply_add(bf16 a, bf16 b, float c, bool fuses = fuses_multiply_adds()) {
  constexpr float kLeast = 0x1p-126F;
  const auto flushed = [](float x) { return std::abs(x) < kLeast ? std::copysign(0.0F, x) : x; };
  const float x = flushed(to_float(a)), y = flushed(to_float(b));
  if (!fuses) {
    return flushed(flushed(x * y) + flushed(c));
  }
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

namespace detail {

/// x, or a zero with its sign if x is denormal.
inline double flushed_as_f32(double x) { return std::abs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; }
inline constexpr float kDefaultNan = std::numeric_limits<float>::quiet_NaN();  // the only NaN that these functions return

}  // namespace detail

/// a + b as FPAdd_BF16() of Arm's manual computes it: rounded to odd, which is towards zero, and then the lowest bit is set if that changed
/// the sum. Denormal numbers and sums are zero; sums from 2^128 on are infinite.
inline float add_rounded_to_odd(float a, float b) {
  const double x = detail::flushed_as_f32(a), y = detail::flushed_as_f32(b);
  double sum = x + y;
  if (std::isnan(sum)) {
    return detail::kDefaultNan;
  }
  if (std::isinf(sum)) {
    return static_cast<float>(sum);
  }
  // The exact sum is sum + rest.
  const double of_y = sum - x;
  const double rest = (x - (sum - of_y)) + (y - of_y);
  if (rest != 0 && std::signbit(rest) != std::signbit(sum)) {
    sum = std::nextafter(sum, 0.0);
  }
  if (std::abs(sum) < 0x1p-126) {
    return std::copysign(0.0F, static_cast<float>(sum));
  }
  if (std::abs(sum) >= 0x1p128) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(sum));
  }
  constexpr std::uint64_t kBelow = (std::uint64_t{1} << 29) - 1;  // bits of an f64 that an f32 does not have
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const auto towards_zero = static_cast<float>(std::bit_cast<double>(bits & ~kBelow));
  const bool is_exact = (bits & kBelow) == 0 && rest == 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(towards_zero) | (is_exact ? 0U : 1U));
}

/// a b as BFMulH() of Arm's manual computes it: exact, but denormal numbers and products are zero.
inline float product_of_bf16(bf16 a, bf16 b) {
  const double product = detail::flushed_as_f32(to_float(a)) * detail::flushed_as_f32(to_float(b));
  return std::isnan(product) ? detail::kDefaultNan : static_cast<float>(detail::flushed_as_f32(product));
}

/// A sum of products from zero as arm64's bfmmla and bfdot compute it, from the pseudocode of BFDotAdd() and BFMatMulAdd() in Arm's manual:
/// pair after pair of k, both products of a pair are added, and their sum is added to the total. bfmmla adds two pairs; those after the
/// last k are zero. No mode of the processor changes this, unless FPCR.EBF is set, which Linux leaves clear.
inline float sum_by_bfmmla(std::span<const bf16> a, std::span<const bf16> b) {
  float sum = 0;
  const auto product = [&](std::size_t l) { return l < a.size() ? product_of_bf16(a[l], b[l]) : 0.0F; };
  for (std::size_t l = 0; l < (a.size() + 3) / 4 * 4; l += 2) {
    sum = add_rounded_to_odd(sum, add_rounded_to_odd(product(l), product(l + 1)));
  }
  return sum;
}

/// gemm() in the order of our own product, bit for bit. The base is the bias and the previous C, and the sum over each block of `depth` of
/// k is added to it in turn. `a` and `b` are the operands; by_bfmmla: as a processor with bfmmla multiplies bf16.
template <class Problem, class T>
void gemm_in_blocks(const Problem& p, const T* a, const T* b, index depth, [[maybe_unused]] bool by_bfmmla = false) {
  const auto sum_of = [&](std::span<const T> x, std::span<const T> y) {
    if constexpr (std::is_same_v<T, bf16>) {
      return by_bfmmla ? sum_by_bfmmla(x, y) : sum_of_products(x, y);
    } else {
      return sum_of_products(x, y);
    }
  };
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
        const float sum = sum_of(in_block(row), in_block(column));
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
    gemm_in_blocks(p, a, b, gemm_block_depth(p.k, p.depth), has_bfmmla_products());
  }
}

}  // namespace dikkat::kernels::reference
