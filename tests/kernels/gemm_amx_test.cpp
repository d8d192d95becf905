#include "autograd/kernels/gemm/gemm_amx.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/simd/philox.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

// tests/kernels/gemm_test.cpp compares this product with its reference too, in all shapes, where the processor has it.
namespace dikkat::kernels::gemm_amx_test {
namespace {

using testing::narrowed;
using testing::numbers;
using testing::same_bits;

struct Case {
  index m, n, k;
  bool transpose_a = false, transpose_b = false, add = false, bias = false, lower = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << " x " << c.n << " x " << c.k << (c.transpose_a ? ", A transposed" : "") << (c.transpose_b ? ", B transposed" : "")
             << (c.add ? ", added" : "") << (c.bias ? ", bias" : "") << (c.lower ? ", lower" : "");
}

/// The operands of a case, and its problem with the C that it is given.
struct Operands {
  explicit Operands(const Case& of)
      : c(of),
        a(narrowed(numbers(c.m * c.k, 1))),
        b(narrowed(numbers(c.n * c.k, 2))),
        bias(numbers(c.n, 3)),
        before(numbers(c.m * c.n, 4)) {}

  template <class Problem>
  Problem problem() const {
    Problem p;
    p.m = c.m, p.n = c.n, p.k = c.k;
    p.a = a.data(), p.lda = c.transpose_a ? c.m : c.k, p.transpose_a = c.transpose_a;
    p.b = b.data(), p.ldb = c.transpose_b ? c.k : c.n, p.transpose_b = c.transpose_b;
    p.ldc = c.n, p.add = c.add, p.bias = c.bias ? bias.data() : nullptr;
    p.lower = c.lower;
    return p;
  }
  /// C by the reference, from a C that was `from` before.
  std::vector<float> expected(std::vector<float> from) const {
    auto p = problem<GemmOf<const bf16*, float*, float>>();
    p.c = from.data();
    reference::gemm_by_amx(p, a.data(), b.data());
    return from;
  }

  Case c;
  std::vector<bf16> a, b;
  std::vector<float> bias, before;
};

// The reference gives the numbers that a processor with AMX has given, so it is tested everywhere.
TEST(GemmAmx, ReferenceGivesTheBitsOfAProcessor) {
  const Operands all({16, 16, 32, false, false, true});
  const auto found = all.expected(all.before);
  const std::pair<std::size_t, std::uint32_t> kMeasured[] = {{0, 0xBF70'DF44},   {17, 0xC07C'FA06},  {34, 0xBE58'7A10},
                                                             {100, 0x3F64'AE26}, {101, 0x3FB6'147C}, {150, 0x4028'FC3E},
                                                             {200, 0xBF8F'274A}, {255, 0xC029'CB5E}};
  for (const auto& [at, bits] : kMeasured) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found[at]), bits) << at;
  }
}

TEST(GemmAmx, OfLargeOperandsEqualsItsReferenceBitForBit) {
  if (!has_amx_products()) {
    GTEST_SKIP() << "this processor has no AMX, or DIKKAT_ISA is another set";
  }
  const Case cases[] = {{33, 70, 6200, false, false, true},  // more than one block of k
                        {40, 33, 6200, true, true, false, true},
                        {1700, 3, 2000, true, false, true},  // A is packed in more than one part
                        {20, 1500, 96, false, true, true, true},
                        {150, 150, 700, false, true, true, false, true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::PrintToString(c));
    const Operands all(c);
    const auto expected = all.expected(all.before);
    const auto bf16_before = narrowed(all.before);
    std::vector<float> as_f32;
    for (const bf16 number : bf16_before) {
      as_f32.push_back(to_float(number));
    }
    const auto bf16_expected = narrowed(all.expected(as_f32));
    for (const int threads : {1, 2, 4}) {
      const WithThreads with(threads, Work{0});
      // Compute C of f32, and C of bf16.
      auto p = all.problem<Bf16Gemm>();
      auto found = all.before;
      p.c = found.data();
      gemm_amx(p);
      auto bf16_found = bf16_before;
      p.c = bf16_found.data();
      gemm_amx(p);
      if (c.lower) {  // elements above the diagonal are undefined
        for (index i = 0; i < c.m; ++i) {
          for (index j = i + 1; j < c.n; ++j) {
            const auto at = static_cast<std::size_t>(i * c.n + j);
            found[at] = expected[at];
            bf16_found[at] = bf16_expected[at];
          }
        }
      }
      EXPECT_TRUE(same_bits(found, expected)) << threads << " threads";
      EXPECT_TRUE(same_bits(bf16_found, bf16_expected)) << threads << " threads";
    }
  }
}

// Operands and sums of all sizes: sums that are denormal, infinite, or not a number, and operands that are denormal.
TEST(GemmAmx, OfAnyNumbersEqualsItsReferenceBitForBit) {
  if (!has_amx_products()) {
    GTEST_SKIP() << "this processor has no AMX, or DIKKAT_ISA is another set";
  }
  struct Regime {
    std::uint32_t least, most;          // exponents of operands
    std::uint32_t least_sum, most_sum;  // of the numbers that are added to
  };
  constexpr Regime kRegimes[] = {{0, 255, 0, 255}, {120, 134, 120, 134}, {60, 67, 0, 4},
                                 {0, 2, 0, 2},     {0, 127, 0, 3},       {186, 191, 250, 254}};
  constexpr index kSize = 16, kDepth = 64;
  const RandomStream stream(1, "tiles", 0);
  index drawn = 0;
  const auto draw = [&](std::uint32_t least, std::uint32_t most) {
    const std::uint32_t word = stream.word(drawn), exponent = least + stream.word(drawn + 1) % (most - least + 1);
    drawn += 2;
    return std::bit_cast<float>((word & 0x807F'FFFFU) | exponent << 23);
  };
  for (const Regime& regime : kRegimes) {
    for (int run = 0; run < 50; ++run) {
      // Draw the operands; in every second run, most are zero.
      std::vector<bf16> a, b;
      std::vector<float> before;
      for (index i = 0; i < kSize * kDepth; ++i) {
        for (std::vector<bf16>* to : {&a, &b}) {
          const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(draw(regime.least, regime.most)) >> 16);
          to->push_back(run % 2 == 1 && stream.word(drawn++) % 4 != 0 ? bf16{0} : bf16{bits});
        }
      }
      for (index i = 0; i < kSize * kSize; ++i) {
        before.push_back(draw(regime.least_sum, regime.most_sum));
      }
      // Compare the product with the reference, element by element.
      const auto problem = [&](auto p, std::vector<float>& c) {
        p.m = p.n = kSize, p.k = kDepth;
        p.a = a.data(), p.lda = kDepth;
        p.b = b.data(), p.ldb = kSize;
        p.c = c.data(), p.ldc = kSize, p.add = true;
        return p;
      };
      auto found = before, expected = before;
      gemm_amx(problem(Bf16Gemm{}, found));
      reference::gemm_by_amx(problem(GemmOf<const bf16*, float*, float>{}, expected), a.data(), b.data());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_TRUE(std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]) ||
                    (std::isnan(found[i]) && std::isnan(expected[i])))
            << "exponents from " << regime.least << ", run " << run << ", element " << i << ": " << found[i] << ", expected "
            << expected[i];
      }
    }
  }
}

}  // namespace
}  // namespace dikkat::kernels::gemm_amx_test
