#include "autograd/base/bf16.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/denormals.h"
#include "autograd/simd/philox.h"
#include "autograd/simd/simd.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/support/sanitized.h"

namespace dikkat {
namespace {

constexpr int kVector = static_cast<int>(simd::kLanes<float>);

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The nearest of the two neighbors that have 8 bits of precision, by distances in f64.
bf16 nearest(float value) {
  const bf16 below{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
  const bf16 above{static_cast<std::uint16_t>(below.bits + 1)};
  const auto as_double = [](bf16 x) {  // the infinity counts as the next power of two
    return std::isinf(to_float(x)) ? std::copysign(0x1p128, to_float(x)) : static_cast<double>(to_float(x));
  };
  const double to_below = std::abs(static_cast<double>(value) - as_double(below)),
               to_above = std::abs(static_cast<double>(value) - as_double(above));
  return to_below < to_above || (to_below == to_above && below.bits % 2 == 0) ? below : above;
}

/// Calls f for numbers with every upper half, and with lower halves around those where rounding changes.
template <class F>
void for_each_upper_half(F&& f) {
  for (std::uint32_t upper = 0; upper < 1U << 16; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      f(of_bits(upper << 16 | lower));
    }
  }
}

TEST(Bf16, IsTheNearestNumberOfEightBits) {
  for_each_upper_half([](float value) {
    const bf16 rounded = to_bf16(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(rounded)));
    } else if (std::isinf(value)) {
      EXPECT_EQ(to_float(rounded), value);
    } else if (std::abs(value) < std::numeric_limits<float>::min()) {
      EXPECT_EQ(to_float(rounded), 0);
      EXPECT_EQ(std::signbit(to_float(rounded)), std::signbit(value));
    } else {
      EXPECT_EQ(rounded, nearest(value)) << value;
    }
  });
}

TEST(Bf16, ErrsByAtMostOnePartIn256) {
  const RandomStream stream(1, "bf16", 0);
  for (index i = 0; i < 10'000; ++i) {
    const auto value = static_cast<float>(stream.uniform(i) - 0.5);
    EXPECT_LE(std::abs(to_float(to_bf16(value)) - value), std::abs(value) * 0x1p-8F);
  }
}

TEST(Bf16, VectorsRoundAsNumbersDo) {
  std::vector<float> numbers;
  for_each_upper_half([&](float value) { numbers.push_back(value); });
  const FlushDenormals flushed;  // as in kernels
  for (std::size_t at = 0; at + 2 * kVector <= numbers.size(); at += 2 * kVector) {
    const float* lower = numbers.data() + at;
    const float* upper = lower + kVector;
    bf16 row[kVector];
    simd::store_bf16(row, simd::load(lower));
    const auto words = simd::bf16_words(simd::load(lower), simd::load(upper));
    const auto back = simd::load_bf16(row);
    for (int lane = 0; lane < kVector; ++lane) {
      ASSERT_EQ(row[lane], to_bf16(lower[lane])) << lower[lane];
      ASSERT_EQ(words[lane], to_bf16(lower[lane]).bits | static_cast<std::uint32_t>(to_bf16(upper[lane]).bits) << 16) << lower[lane];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(float{back[lane]}), static_cast<std::uint32_t>(row[lane].bits) << 16);
    }
  }
}

/// A float made of these bits, with either sign and an exponent from `least` to `most`.
float any_float(std::uint64_t bits, int least, int most) {
  const auto exponent = static_cast<std::uint32_t>(least + static_cast<int>(bits >> 32) % (most - least + 1));
  return of_bits((static_cast<std::uint32_t>(bits) & 0x807F'FFFFU) | exponent << 23);
}

using BfWords = simd::Vec<std::uint32_t>;
using BfSums = simd::Vec<float>;

/// The products of words as f32, as kernels compute them that widen bf16.
BfSums multiply_add_widened(BfWords a, BfWords b, BfSums c) {
  const auto upper = [](BfWords word) { return reinterpret_cast<BfSums>(word & 0xFFFF'0000U); };
  const auto lower = [](BfWords word) { return reinterpret_cast<BfSums>(word << 16); };
  return simd::fused_multiply_add(lower(a), lower(b), simd::fused_multiply_add(upper(a), upper(b), c));
}
constexpr BfSums (*kMultiplyAdds[])(BfWords, BfWords, BfSums) = {
    multiply_add_widened,
#if defined(__AVX512BF16__)
    simd::multiply_add_words,
#endif
};

// Exponents: all; about 1; products around the smallest normal number; operands that are denormal.
TEST(Bf16, SumsOfProductsAreThoseOfTheReference) {
  struct Regime {
    int least, most;          // of operands
    int least_sum, most_sum;  // of the numbers that are added to
  };
  constexpr Regime kRegimes[] = {{0, 255, 0, 255}, {120, 134, 120, 134}, {60, 67, 0, 4}, {0, 2, 0, 2}, {0, 127, 0, 3}, {126, 127, 0, 2}};
  const RandomStream stream(1, "words", 0);
  index drawn = 0;
  const auto draw = [&] {
    drawn += 2;
    return static_cast<std::uint64_t>(stream.word(drawn - 2)) << 32 | stream.word(drawn - 1);
  };
  for (const Regime& regime : kRegimes) {
    for (int run = 0; run < (testing::kSanitized ? 2'000 : 20'000); ++run) {
      BfWords a{}, b{};
      BfSums c{};
      bf16 pairs_a[kVector][2], pairs_b[kVector][2];
      float sums[kVector];
      // Draw the operands.
      for (int lane = 0; lane < kVector; ++lane) {
        for (int i = 0; i < 2; ++i) {
          pairs_a[lane][i] = {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(any_float(draw(), regime.least, regime.most)) >> 16)};
          pairs_b[lane][i] = {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(any_float(draw(), regime.least, regime.most)) >> 16)};
        }
        sums[lane] = any_float(draw(), regime.least_sum, regime.most_sum);
        a[lane] = std::bit_cast<std::uint32_t>(pairs_a[lane]);
        b[lane] = std::bit_cast<std::uint32_t>(pairs_b[lane]);
      }
      std::memcpy(&c, sums, sizeof c);
      // Compute the reference, lane by lane, and compare.
      float expected[kVector];
      for (int lane = 0; lane < kVector; ++lane) {
        namespace r = kernels::reference;
        expected[lane] = r::multiply_add(pairs_a[lane][0], pairs_b[lane][0],
                                         r::multiply_add(pairs_a[lane][1], pairs_b[lane][1], sums[lane], simd::kFusesMultiplyAdds),
                                         simd::kFusesMultiplyAdds);
      }
      for (const auto& multiply : kMultiplyAdds) {
        float found[kVector];
        {
          const FlushDenormals flushed;
          simd::store(found, multiply(a, b, c));
        }
        for (int lane = 0; lane < kVector; ++lane) {
          ASSERT_TRUE(std::bit_cast<std::uint32_t>(found[lane]) == std::bit_cast<std::uint32_t>(expected[lane]) ||
                      (std::isnan(found[lane]) && std::isnan(expected[lane])))
              << to_float(pairs_a[lane][0]) << " * " << to_float(pairs_b[lane][0]) << " + " << to_float(pairs_a[lane][1]) << " * "
              << to_float(pairs_b[lane][1]) << " + " << sums[lane] << " = " << found[lane] << ", expected " << expected[lane];
        }
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
