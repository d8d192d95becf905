#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/denormals.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/simd/philox.h"
#include "tests/kernels/reference/gemm.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

// tests/kernels/gemm_test.cpp compares this product with its reference too, in all shapes, where the processor has it.
namespace dikkat::kernels::gemm_bfmmla_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(GemmBfmmla, ReferenceRoundsToOdd) {
  struct Case {
    float a, b, sum;
  };
  const Case cases[] = {
      {1, 0x1p-24F, 1 + 0x1p-23F},  // half a unit: up, to the odd neighbor
      {1, 0x1p-140F + 0x1p-126F, 1 + 0x1p-23F},
      {1 + 0x1p-23F, 0x1p-24F, 1 + 0x1p-23F},  // half a unit: down, since it is odd already
      {1, -0x1p-26F, 1 - 0x1p-24F},
      {-1, 0x1p-30F, -1 + 0x1p-24F},
      {-1, -0x1p-120F, -1 - 0x1p-23F},
      {1, 2, 3},
      {3, -3, 0},
      {-0.0F, -0.0F, -0.0F},
      {-0.0F, 0, 0},
      {0x1p-127F, 0x1p-127F, 0},  // denormal numbers are zero
      {-0x1p-127F, -0x1p-127F, -0.0F},
      {0x1.8p-126F, -0x1p-126F, 0},  // and so are denormal sums
      {-0x1.8p-126F, 0x1p-126F, -0.0F},
      {0x1.fffffep127F, 0x1p100F, 0x1.fffffep127F},  // below 2^128
      {0x1.fffffep127F, 0x1p104F, kInfinity},
      {-0x1.8p127F, -0x1.8p127F, -kInfinity},
      {kInfinity, -1, kInfinity},
  };
  for (const auto& [a, b, sum] : cases) {
    EXPECT_EQ(bits_of(reference::add_rounded_to_odd(a, b)), bits_of(sum)) << a << " + " << b;
    EXPECT_EQ(bits_of(reference::add_rounded_to_odd(b, a)), bits_of(sum)) << b << " + " << a;
  }
  EXPECT_TRUE(std::isnan(reference::add_rounded_to_odd(kInfinity, -kInfinity)));
  EXPECT_EQ(bits_of(reference::product_of_bf16(to_bf16(-0x1p-70F), to_bf16(0x1p-60F))), bits_of(-0.0F));
  EXPECT_EQ(bits_of(reference::product_of_bf16(to_bf16(0x1p70F), to_bf16(-0x1p60F))), bits_of(-kInfinity));
}

#if defined(__aarch64__)
struct Regime {
  std::uint32_t least, most;          // exponents of operands
  std::uint32_t least_sum, most_sum;  // of the numbers that are added to
};
constexpr Regime kRegimes[] = {{0, 255, 0, 255}, {120, 134, 120, 134}, {60, 67, 0, 4},      {0, 2, 0, 2},
                               {0, 127, 0, 3},   {126, 127, 0, 2},     {186, 191, 250, 254}};

class Draw {
 public:
  float f32(std::uint32_t least, std::uint32_t most) {
    const std::uint32_t word = next(), exponent = least + next() % (most - least + 1);
    return std::bit_cast<float>((word & 0x807F'FFFFU) | exponent << 23);
  }
  bf16 number(std::uint32_t least, std::uint32_t most) { return {static_cast<std::uint16_t>(bits_of(f32(least, most)) >> 16)}; }
  std::uint32_t next() { return stream_.word(drawn_++); }

 private:
  RandomStream stream_{1, "tiles", 0};
  index drawn_ = 0;
};

struct Operands {
  bf16 a[2][4], b[2][4];  // rows of A, columns of B
  float c[2][2];
};

__attribute__((target("arch=armv8.2-a+bf16"))) void multiply(const Operands& o, float (&found)[2][2]) {
  bfloat16x8_t a, b;
  std::memcpy(&a, o.a, sizeof a);
  std::memcpy(&b, o.b, sizeof b);
  vst1q_f32(found[0], vbfmmlaq_f32(vld1q_f32(o.c[0]), a, b));
}

// The instruction itself, which adds to any number, and whatever the thread does about denormal numbers.
TEST(GemmBfmmla, TheInstructionHasTheBitsOfTheReference) {
  if (!has_bfmmla_products()) {
    GTEST_SKIP() << "this processor has no bfmmla, or DIKKAT_ISA is another set";
  }
  Draw draw;
  for (const Regime& regime : kRegimes) {
    for (int run = 0; run < 5'000; ++run) {
      Operands o;
      for (int row = 0; row < 2; ++row) {
        for (int l = 0; l < 4; ++l) {
          o.a[row][l] = draw.number(regime.least, regime.most);
          o.b[row][l] = run % 2 == 1 && draw.next() % 4 != 0 ? bf16{0} : draw.number(regime.least, regime.most);
        }
        o.c[row][0] = draw.f32(regime.least_sum, regime.most_sum);
        o.c[row][1] = draw.f32(regime.least_sum, regime.most_sum);
      }
      float found[2][2], flushed[2][2];
      multiply(o, found);
      {
        const FlushDenormals flush;
        multiply(o, flushed);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          const auto product = [&](int l) { return reference::product_of_bf16(o.a[i][l], o.b[j][l]); };
          float expected = o.c[i][j];
          for (int l = 0; l < 4; l += 2) {
            expected = reference::add_rounded_to_odd(expected, reference::add_rounded_to_odd(product(l), product(l + 1)));
          }
          ASSERT_EQ(bits_of(found[i][j]), bits_of(expected)) << "exponents from " << regime.least << ", run " << run;
          ASSERT_EQ(bits_of(flushed[i][j]), bits_of(expected)) << "exponents from " << regime.least << ", run " << run;
        }
      }
    }
  }
}

// Operands of all sizes, in tiles with an odd number of rows and a k that is not a multiple of four.
TEST(GemmBfmmla, OfAnyNumbersEqualsItsReferenceBitForBit) {
  if (!has_bfmmla_products()) {
    GTEST_SKIP() << "this processor has no bfmmla, or DIKKAT_ISA is another set";
  }
  constexpr index kM = 9, kN = 23;
  Draw draw;
  const FlushDenormals flush;  // as kernels run
  for (const Regime& regime : kRegimes) {
    for (int run = 0; run < 20; ++run) {
      const index k = 29 + run % 4;
      std::vector<bf16> a, b;
      for (index i = 0; i < k * kM; ++i) {
        a.push_back(draw.number(regime.least, regime.most));
      }
      for (index i = 0; i < k * kN; ++i) {
        b.push_back(run % 2 == 1 && draw.next() % 4 != 0 ? bf16{0} : draw.number(regime.least, regime.most));
      }
      const auto problem = [&](auto p, std::vector<float>& c) {
        p.m = kM, p.n = kN, p.k = k;
        p.a = a.data(), p.lda = run % 3 == 0 ? kM : k, p.transpose_a = run % 3 == 0;
        p.b = b.data(), p.ldb = run % 5 == 0 ? k : kN, p.transpose_b = run % 5 == 0;
        p.c = c.data(), p.ldc = kN;
        return p;
      };
      std::vector<float> found(kM * kN), expected = found;
      gemm_tiles(problem(Bf16Gemm{}, found));
      reference::gemm_in_blocks(problem(GemmOf<const bf16*, float*, float>{}, expected), a.data(), b.data(),
                                gemm_block_depth(k, kMostDepth), true);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(bits_of(found[i]), bits_of(expected[i])) << "exponents from " << regime.least << ", run " << run << ", element " << i;
      }
    }
  }
}
#endif

}  // namespace
}  // namespace dikkat::kernels::gemm_bfmmla_test
