#include "autograd/kernels/gemm/gemm.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/sanitized.h"
#include "tests/support/throws.h"
#include "tests/support/widened_bf16.h"

namespace dikkat::kernels::gemm_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::WidenedBf16;

struct Problem {
  index m, n, k;
  bool transpose_a = false, transpose_b = false, add = false, bias = false;
  index gap = 0;  // elements between the end of a row and the next one's begin
  index depth = kMostDepth;
};

std::ostream& operator<<(std::ostream& out, const Problem& p) {
  return out << p.m << " x " << p.n << " x " << p.k << (p.transpose_a ? ", A transposed" : "") << (p.transpose_b ? ", B transposed" : "")
             << (p.add ? ", added" : "") << (p.bias ? ", bias" : "") << ", gap " << p.gap;
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  constexpr index kSizes[][3] = {{1, 1, 1},     {1, 65, 17},   {7, 15, 129},   {16, 16, 16},  {17, 63, 7},
                                 {65, 7, 1},    {129, 1, 65},  {63, 129, 15},  {32, 33, 48},  {33, 129, 63},
                                 {300, 48, 65}, {257, 17, 16}, {130, 200, 70}, {31, 40, 600}, {797, 24, 259}};
  for (const auto& size : kSizes) {
    const bool all_kinds = size[0] == 17;  // the others take turns
    for (int bits = all_kinds ? 0 : static_cast<int>(size[0] % 3); bits < 16; bits += all_kinds ? 1 : 3) {
      all.push_back({size[0], size[1], size[2], (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                     (bits / 2 + size[0]) % 2 == 0 ? 0 : 3});
    }
  }
  return all;
}

/// C of a problem on random numbers, with the gaps between its rows. `multiply` gets the whole of it.
template <class T, class F>
std::vector<T> product(const Problem& p, F&& multiply) {
  const index lda = (p.transpose_a ? p.m : p.k) + p.gap;
  const index ldb = (p.transpose_b ? p.k : p.n) + p.gap;
  const index ldc = p.n + p.gap;
  const auto a = converted<T>(numbers((p.transpose_a ? p.k : p.m) * lda, 1));
  const auto b = converted<T>(numbers((p.transpose_b ? p.n : p.k) * ldb, 2));
  const auto bias = converted<T>(numbers(p.n, 3));
  auto c = converted<T>(numbers(p.m * ldc, 4));
  multiply(Gemm<T>{.m = p.m,
                   .n = p.n,
                   .k = p.k,
                   .a = a.data(),
                   .lda = lda,
                   .transpose_a = p.transpose_a,
                   .b = b.data(),
                   .ldb = ldb,
                   .transpose_b = p.transpose_b,
                   .c = c.data(),
                   .ldc = ldc,
                   .add = p.add,
                   .bias = p.bias ? bias.data() : nullptr,
                   .depth = p.depth});
  return c;
}

/// All ways to multiply f32.
constexpr void (*kProducts[])(const Gemm<float>&) = {gemm<float>, gemm_tiles};

// Sums have up to 600 products below 1. f32 may err by 2^-23 for each product, most of which cancel, relative to C's largest element.
TEST(Gemm, EqualsPlainLoops) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(::testing::PrintToString(p));
    const auto expected = product<double>(p, [](const Gemm<double>& g) { reference::gemm(g); });
    EXPECT_LE(relative_error(product<double>(p, [](const Gemm<double>& g) { gemm(g); }), expected), 1e-14);
    EXPECT_LE(relative_error(product<float>(p, [](const Gemm<float>& g) { gemm(g); }), expected), 1e-6);
    for (const auto multiply : kProducts) {
      EXPECT_LE(relative_error(product<float>(p, multiply), expected), 1e-6);
    }
  }
}

std::vector<Problem> large_problems_too() {
  std::vector<Problem> all = problems();
  all.insert(all.end(), {{50, 100, 2000, false, true, true},
                         {1030, 20, 800, true, false, false, true},
                         {70, 3100, 40, false, true, false, true, 3},
                         {1000, 16, 900, true},
                         {130, 7, 33, true, true, true, true, 3},
                         {9, 17, 769, true, true},
                         {50, 400, 130, true, false, true},
                         {40, 50, 1100, true, false, true, true, 3, kDepthOfGradients},
                         {128, 65, 768, true, false, true, false, 0, kDepthOfGradients},
                         {30, 16, 1024, true, false, false, false, 3, kDepthOfGradients},
                         {150, 7, 2000, true, false, false, true, 0, kDepthOfGradients},
                         {40, 50, 1024, false, true, false, false, 0, kDepthOfGradients}});
  if (!testing::kSanitized) {  // it takes long there
    all.insert(all.end(), {{60, 1600, 3000, false, false, true}, {5000, 65, 700, true}});
  }
  return all;
}

TEST(Gemm, TilesEqualPlainLoopsInTheirOrderBitForBit) {
  for (const Problem& p : large_problems_too()) {
    SCOPED_TRACE(::testing::PrintToString(p));
    const auto expected =
        product<float>(p, [](const Gemm<float>& g) { reference::gemm_in_blocks(g, g.a, g.b, gemm_block_depth(g.k, g.depth)); });
    EXPECT_TRUE(same_bits(product<float>(p, [](const Gemm<float>& g) { gemm_tiles(g); }), expected));
    if (p.transpose_a) {  // otherwise few rows are summed in another order
      EXPECT_TRUE(same_bits(product<float>(p, [](const Gemm<float>& g) { gemm(g); }), expected));
    }
  }
}

std::vector<bf16> rounded(const std::vector<float>& numbers) {
  std::vector<bf16> all;
  for (const float number : numbers) {
    all.push_back(to_bf16(number));
  }
  return all;
}

/// The problem with numbers of bf16, stored as bf16 or as f32.
Bf16Gemm as_bf16(const Gemm<float>& g, Bf16Source a, Bf16Source b, Bf16Target c) {
  return {.m = g.m,
          .n = g.n,
          .k = g.k,
          .a = a,
          .lda = g.lda,
          .transpose_a = g.transpose_a,
          .b = b,
          .ldb = g.ldb,
          .transpose_b = g.transpose_b,
          .c = c,
          .ldc = g.ldc,
          .add = g.add,
          .bias = g.bias,
          .depth = g.depth,
          .lower = g.lower};
}

// Blocks of 392 k and 1,340 rows are read in one part, and the last block, of 377 k, was read in several, in scratch memory that was not
// there. A new thread has no scratch memory of earlier products that hides this. (LLVM's OpenMP, which the sanitizers use, leaks its team.)
TEST(Gemm, AShorterLastBlockIsReadAsTheOthersAre) {
  const Problem p{1340, 24, 769, true};
  const auto expected =
      product<float>(p, [](const Gemm<float>& g) { reference::gemm_in_blocks(g, g.a, g.b, gemm_block_depth(g.k, g.depth)); });
  std::vector<float> found;
  const auto multiply = [&] { found = product<float>(p, [](const Gemm<float>& g) { gemm_tiles(g); }); };
  if (testing::kSanitized) {
    multiply();
  } else {
    std::thread(multiply).join();
  }
  EXPECT_TRUE(same_bits(found, expected));
}

TEST(Gemm, OfBf16EqualsPlainLoopsInItsOrderBitForBit) {
  for (const Problem& p : large_problems_too()) {
    SCOPED_TRACE(::testing::PrintToString(p));
    const auto a = numbers((p.transpose_a ? p.k : p.m) * ((p.transpose_a ? p.m : p.k) + p.gap), 1);
    const auto b = numbers((p.transpose_b ? p.n : p.k) * ((p.transpose_b ? p.k : p.n) + p.gap), 2);
    const auto bf16_a = rounded(a), bf16_b = rounded(b);
    const auto expected = product<float>(p, [&](const Gemm<float>& g) { reference::gemm_of_bf16(g, bf16_a.data(), bf16_b.data()); });
    for (const Bf16Source& a_source : {Bf16Source(a.data()), Bf16Source(bf16_a.data())}) {
      for (const Bf16Source& b_source : {Bf16Source(b.data()), Bf16Source(bf16_b.data())}) {
        for (const auto& [threads, widens] : {std::pair(1, false), {3, false}, {2, true}}) {
          if (testing::kSanitized && threads == 1) {
            continue;  // it takes long there
          }
          const WithThreads with(threads, Work{0});
          const WidenedBf16 widened(widens);
          EXPECT_TRUE(same_bits(product<float>(p, [&](const Gemm<float>& g) { gemm(as_bf16(g, a_source, b_source, g.c)); }), expected))
              << (a_source.is_bf16() ? "a of bf16 " : "") << (b_source.is_bf16() ? "b of bf16 " : "") << threads << " threads"
              << (widens ? ", widened" : "");
        }
      }
    }
  }
}

// Operands are denormal, huge, infinite and NaN, and sums are around the smallest normal number.
TEST(Gemm, OfBf16TreatsAllNumbersAsTheInstructionDoes) {
  struct Regime {
    std::uint32_t least, most;  // exponents of operands
  };
  for (const Regime& regime : {Regime{0, 255}, {60, 66}, {0, 2}, {0, 127}, {126, 127}, {188, 192}}) {
    for (const index k : {1, 2, 7, 40}) {
      for (const bool is_transposed : {false, true}) {
        const index m = 23, n = 70;
        const auto draw = [&](index count, std::uint64_t seed) {
          std::vector<float> drawn = numbers(count, seed);
          for (float& x : drawn) {
            const auto bits = std::bit_cast<std::uint32_t>(x);
            const std::uint32_t exponent = regime.least + (bits >> 4 & 0xFFFU) % (regime.most - regime.least + 1);
            x = std::bit_cast<float>((bits & 0x807F'FFFFU) | exponent << 23);
          }
          return drawn;
        };
        const auto a = draw(m * k, 1), b = draw(k * n, 2);
        const auto bf16_a = rounded(a), bf16_b = rounded(b);
        const auto problem = [&](float* c) {
          return Gemm<float>{.m = m,
                             .n = n,
                             .k = k,
                             .a = a.data(),
                             .lda = is_transposed ? m : k,
                             .transpose_a = is_transposed,
                             .b = b.data(),
                             .ldb = is_transposed ? k : n,
                             .transpose_b = is_transposed,
                             .c = c,
                             .ldc = n};
        };
        std::vector<float> expected(static_cast<std::size_t>(m * n)), found(expected.size());
        reference::gemm_of_bf16(problem(expected.data()), bf16_a.data(), bf16_b.data());
        for (const bool widens : {false, true}) {
          for (const bool is_stored : {false, true}) {
            const WidenedBf16 widened(widens);
            const Gemm<float> g = problem(found.data());
            gemm(is_stored ? as_bf16(g, bf16_a.data(), bf16_b.data(), g.c) : as_bf16(g, g.a, g.b, g.c));
            for (std::size_t i = 0; i < found.size(); ++i) {
              ASSERT_TRUE(std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]) ||
                          (std::isnan(found[i]) && std::isnan(expected[i])))
                  << found[i] << ", expected " << expected[i] << ": exponents from " << regime.least << ", k = " << k
                  << (is_transposed ? ", transposed" : "") << (widens ? ", widened" : "") << (is_stored ? ", stored as bf16" : "");
            }
          }
        }
      }
    }
  }
}

// A product that is added to another one has the bits of the product computed separately, whether one pass over C computes both or not.
TEST(Gemm, PlusAnotherProductEqualsOneAfterTheOther) {
  for (const Problem& p : large_problems_too()) {
    const bool a_is_transposed = p.m % 2 == 0, b_is_transposed = p.m % 3 == 0;
    const index k = p.k % 3 == 0 ? 16 : 5;
    const auto a = numbers(p.m * k, 5), b = numbers(p.n * k, 6);
    const auto bf16_a = rounded(a), bf16_b = rounded(b);
    // Returns the product that is added to the first one.
    const auto added = [&](const Gemm<float>& g) {
      return Gemm<float>{.m = g.m,
                         .n = g.n,
                         .k = k,
                         .a = a.data(),
                         .lda = a_is_transposed ? g.m : k,
                         .transpose_a = a_is_transposed,
                         .b = b.data(),
                         .ldb = b_is_transposed ? k : g.n,
                         .transpose_b = b_is_transposed,
                         .c = g.c,
                         .ldc = g.ldc,
                         .add = true};
    };
    // Computes both products at once, or one after the other.
    const auto both = [](const auto& first, const auto& second, bool at_once) {
      auto g = first;
      g.plus = at_once ? &second : nullptr;
      gemm(g);
      if (!at_once) {
        gemm(second);
      }
    };
    // Compare f32, and bf16 into f32 and bf16.
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(concat(::testing::PrintToString(p), ", plus k = ", k, ", ", threads, " threads"));
      const WithThreads with(threads, Work{0});
      const auto f32 = [&](bool at_once) { return product<float>(p, [&](const Gemm<float>& g) { both(g, added(g), at_once); }); };
      EXPECT_TRUE(same_bits(f32(true), f32(false)));
      const auto of_bf16 = [&](bool at_once, bool rounds) {
        return product<float>(p, [&](const Gemm<float>& g) {
          std::vector<bf16> to(static_cast<std::size_t>(g.m * g.ldc));
          const Bf16Target c = rounds ? Bf16Target(to.data()) : Bf16Target(g.c);
          both(as_bf16(g, g.a, g.b, c), as_bf16(added(g), bf16_a.data(), bf16_b.data(), c), at_once);
          for (std::size_t i = 0; i < to.size() && rounds; ++i) {
            g.c[i] = to_float(to[i]);
          }
        });
      };
      for (const bool rounds : {false, true}) {
        const auto expected = of_bf16(false, rounds);
        for (const bool widens : {false, true}) {
          const WidenedBf16 widened(widens);
          EXPECT_TRUE(same_bits(of_bf16(true, rounds), expected)) << (rounds ? "into bf16" : "") << (widens ? ", widened" : "");
        }
      }
    }
  }
}

// Sums are those of f32, from a base of bf16, and are rounded once.
TEST(Gemm, WithACOfBf16RoundsOnce) {
  for (const Problem& p : large_problems_too()) {
    SCOPED_TRACE(::testing::PrintToString(p));
    const WidenedBf16 widened(p.m % 2 == 0);
    std::vector<bf16> found;
    const auto in_f32 = product<float>(p, [&](const Gemm<float>& g) {
      const index size = (g.m - 1) * g.ldc + g.n + p.gap;
      for (index i = 0; i < size; ++i) {
        found.push_back(to_bf16(g.c[i]));
        g.c[i] = to_float(found.back());
      }
      gemm(as_bf16(g, g.a, g.b, found.data()));
      gemm(as_bf16(g, g.a, g.b, g.c));
    });
    EXPECT_TRUE(same_bits(found, rounded(in_f32)));
  }
}

// Each operand errs by at most 2^-8 of itself, so a product errs by at most 2^-7 and 2^-16.
TEST(Gemm, OfBf16IsAsNearAsItsOperands) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(::testing::PrintToString(p));
    std::vector<double> bounds;  // of |A| |B|
    const auto exact = product<double>(p, [&](const Gemm<double>& g) {
      reference::gemm(g);
      for (index i = 0; i < g.m; ++i) {
        for (index j = 0; j < g.n; ++j) {
          double sum = 0;
          for (index l = 0; l < g.k; ++l) {
            sum += std::abs((g.transpose_a ? g.a[l * g.lda + i] : g.a[i * g.lda + l]) *
                            (g.transpose_b ? g.b[j * g.ldb + l] : g.b[l * g.ldb + j]));
          }
          bounds.push_back(sum * (0x1p-7 + 0x1p-16) + 1e-6);  // and f32's own rounding
        }
      }
    });
    const auto found = product<float>(p, [](const Gemm<float>& g) { gemm(as_bf16(g, g.a, g.b, g.c)); });
    for (index i = 0; i < p.m; ++i) {
      for (index j = 0; j < p.n; ++j) {
        const auto at = static_cast<std::size_t>(i * (p.n + p.gap) + j);
        ASSERT_LE(std::abs(static_cast<double>(found[at]) - exact[at]), bounds[static_cast<std::size_t>(i * p.n + j)]);
      }
    }
  }
}

TEST(Gemm, SumsMayHaveMoreDigitsThanOperands) {
  const std::vector<float> a = {1e8F, 1, -1e8F, 0, 1e-8F, 1}, b = {1, 1, 1};
  const std::vector<double> bias = {1e-9};
  std::vector<double> c = {3, 4};
  gemm<float, double>({.m = 2,
                       .n = 1,
                       .k = 3,
                       .a = a.data(),
                       .lda = 3,
                       .b = b.data(),
                       .ldb = 1,
                       .c = c.data(),
                       .ldc = 1,
                       .add = true,
                       .bias = bias.data()});
  EXPECT_DOUBLE_EQ(c[0], 1 + 3 + 1e-9);
  EXPECT_DOUBLE_EQ(c[1], 1 + static_cast<double>(1e-8F) + 4 + 1e-9);
}

TEST(Gemm, DoesNotWriteBetweenRows) {
  const Problem p{.m = 37, .n = 5, .k = 9, .gap = 4};
  const auto before = numbers(p.m * (p.n + p.gap), 4);
  for (const auto multiply : kProducts) {
    const auto c = product<float>(p, multiply);
    for (index i = 0; i < p.m; ++i) {
      for (index j = p.n; j < p.n + p.gap; ++j) {
        const auto at = static_cast<std::size_t>(i * (p.n + p.gap) + j);
        ASSERT_EQ(c[at], before[at]) << i << ", " << j;
      }
    }
  }
}

TEST(Gemm, SameBitsOnAnyNumberOfThreads) {
  const std::vector<Problem> all = {{300, 48, 65},
                                    {257, 130, 16, true},
                                    {16, 513, 1025, false, true},
                                    {1, 1024, 700, false, true},
                                    {32, 300, 2000, true},
                                    {129, 129, 129, false, true, true},
                                    {515, 96, 64, false, true, false, true}};
  for (const Problem& p : all) {
    SCOPED_TRACE(::testing::PrintToString(p));
    for (const auto multiply : kProducts) {
      std::optional<std::vector<float>> first;
      for (const int threads : {1, 2, 4, 3, 2, 1}) {
        const WithThreads with(threads, Work{0});
        const auto c = product<float>(p, multiply);
        first = first ? first : c;
        EXPECT_TRUE(same_bits(c, *first)) << threads << " threads";
      }
    }
  }
}

TEST(Gemm, EmptySidesGiveTheBiasOrNothing) {
  for (const bool add : {false, true}) {
    for (const bool bias : {false, true}) {
      const Problem p{.m = 5, .n = 3, .k = 0, .add = add, .bias = bias};
      const auto expected = product<float>(p, [](const Gemm<float>& g) { reference::gemm(g); });
      EXPECT_TRUE(same_bits(product<float>(p, [](const Gemm<float>& g) { gemm(g); }), expected)) << p;
      const auto wide = product<double>(p, [](const Gemm<double>& g) { gemm(g); });
      EXPECT_TRUE(same_bits(converted<float>(wide), expected)) << p;
    }
  }
  for (const Problem& p : {Problem{0, 3, 4}, Problem{5, 0, 4}}) {
    EXPECT_TRUE(product<float>(p, [](const Gemm<float>& g) { gemm(g); }).empty());
    EXPECT_TRUE(product<double>(p, [](const Gemm<double>& g) { gemm(g); }).empty());
  }
}

TEST(Gemm, NotANumberStaysInItsRow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> a(64 * 8, 1.0F);
  const std::vector<float> b(8 * 20, 1.0F);
  a[17 * 8 + 3] = nan;
  for (const auto multiply : kProducts) {
    std::vector<float> c(64 * 20, nan);  // C's own NaN is overwritten
    multiply({.m = 64, .n = 20, .k = 8, .a = a.data(), .lda = 8, .b = b.data(), .ldb = 20, .c = c.data(), .ldc = 20});
    for (std::size_t i = 0; i < c.size(); ++i) {
      ASSERT_EQ(std::isnan(c[i]), i / 20 == 17) << i;
    }
  }
}

}  // namespace
}  // namespace dikkat::kernels::gemm_test
