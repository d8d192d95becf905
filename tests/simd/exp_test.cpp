#include "autograd/simd/exp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "autograd/base/denormals.h"
#include "tests/support/over_floats.h"

namespace dikkat {
namespace {

using testing::kFloatLanes;
using testing::kInfinity;
using testing::kNan;
using testing::over_all_floats;
using testing::ulps;

constexpr float kHighest = 88.7228317F;  // the last float below log(FLT_MAX)

float exp_of(float x) { return simd::exp(simd::broadcast(x))[3]; }

TEST(Exp, WithinTwoUlpOverAllFloats) {
  double worst = 0;
  std::int64_t outside = 0;
  over_all_floats([](auto x) { return simd::exp(x); },
                  [&](float x, float y) {
                    if (std::isnan(x)) {
                      outside += std::isnan(y) ? 0 : 1;
                    } else if (x < -86.99F) {
                      outside += y == 0 ? 0 : 1;
                    } else if (x > kHighest) {
                      outside += y == kInfinity ? 0 : 1;
                    } else if (x >= -86.98F) {
                      worst = std::max(worst, ulps(y, std::exp(static_cast<double>(x))));
                    }
                  });
  EXPECT_EQ(outside, 0) << "exp of NaN is NaN, below the range 0, above it infinity";
  EXPECT_LT(worst, 2) << "ulp";
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Exp2, WithinTwoUlpOverItsRange) {
  double worst = 0;
  over_all_floats([](auto x) { return simd::exp2_within(x); },
                  [&](float x, float y) {
                    if (-125.5F < x && x < 128.0F) {
                      worst = std::max(worst, ulps(y, std::exp2(static_cast<double>(x))));
                    }
                  });
  EXPECT_LT(worst, 2) << "ulp";
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Exp2, AtItsEnds) {
  const auto exp2_of = [](float x) { return simd::exp2_within(simd::broadcast(x))[3]; };
  EXPECT_EQ(exp2_of(0), 1);
  EXPECT_EQ(exp2_of(-126), 0);
  EXPECT_EQ(exp2_of(-125), 0x1p-125F);
  EXPECT_EQ(exp2_of(127), 0x1p127F);
  EXPECT_EQ(exp2_of(128), kInfinity);
  EXPECT_EQ(exp2_of(128.5F), kInfinity);
  EXPECT_TRUE(std::isnan(exp2_of(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Tanh, WithinTwoUlpOverAllFloats) {
  double worst = 0;
  std::int64_t outside = 0;
  over_all_floats([](auto x) { return simd::tanh(x); },
                  [&](float x, float y) {
                    if (std::isnan(x)) {
                      outside += std::isnan(y) ? 0 : 1;
                    } else if (std::abs(x) < std::numeric_limits<float>::min()) {
                      outside += y == 0 ? 0 : 1;
                    } else {
                      worst = std::max(worst, ulps(y, std::tanh(static_cast<double>(x))));
                      outside += std::abs(y) <= 1 ? 0 : 1;
                    }
                  });
  EXPECT_EQ(outside, 0) << "tanh of NaN is NaN, of a denormal 0, and nothing is beyond 1";
  EXPECT_LT(worst, 2) << "ulp";
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Exp, AtItsEnds) {
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(exp_of(-0.0F), 1);
  EXPECT_EQ(exp_of(kInfinity), kInfinity);
  EXPECT_EQ(exp_of(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));

  EXPECT_LT(exp_of(kHighest), kInfinity);
  EXPECT_EQ(exp_of(std::nextafter(kHighest, kInfinity)), kInfinity);
  EXPECT_GE(exp_of(-86.98F), std::numeric_limits<float>::min()) << "a normal number";
  EXPECT_EQ(exp_of(-86.99F), 0);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::lowest()), 0);
}

TEST(Exp, LanesAreApart) {
  simd::Vec<float> x{};
  for (int lane = 0; lane < kFloatLanes; ++lane) {
    x[lane] = lane % 4 == 0 ? kInfinity : lane % 4 == 1 ? -kInfinity : lane % 4 == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
  }
  const simd::Vec<float> y = simd::exp(x);
  for (int lane = 0; lane < kFloatLanes; lane += 4) {
    EXPECT_EQ(y[lane], kInfinity);
    EXPECT_EQ(y[lane + 1], 0);
    EXPECT_TRUE(std::isnan(y[lane + 2]));
    EXPECT_FLOAT_EQ(y[lane + 3], 2.7182818F);
  }
}

TEST(Exp, NeverFallsWhenItsArgumentRises) {
  float before = 0;
  for (float x = -87; x < 89; x += 0.0007F) {
    const float y = exp_of(x);
    EXPECT_GE(y, before * (1 - 2.5e-7F)) << x;
    before = y;
  }
}

float exp2_of_negative(float x) { return simd::exp2_of_negative(simd::broadcast(x))[1]; }
float log2_of(float x) { return simd::log2_of_positive(simd::broadcast(x))[1]; }

/// Calls f for every 1009th float from `first` to `last`, by their bits.
template <class F>
void for_floats(float first, float last, F&& f) {
  const auto end = std::bit_cast<std::uint32_t>(last);
  for (auto bits = std::bit_cast<std::uint32_t>(first); bits < end; bits += 1009) {
    f(std::bit_cast<float>(bits));
  }
}

TEST(Exp2OfNegative, WithinTwoUlpBelowZero) {
  const FlushDenormals flushed;  // as in kernels
  double worst = 0;
  for_floats(-0.0F, -126.0F, [&](float x) { worst = std::max(worst, ulps(exp2_of_negative(x), std::exp2(static_cast<double>(x)))); });
  EXPECT_LT(worst, 2) << "ulp";
}

TEST(Exp2OfNegative, AtItsEnds) {
  EXPECT_EQ(exp2_of_negative(0), 1);
  EXPECT_EQ(exp2_of_negative(3), 1) << "numbers above 0 count as 0";
  EXPECT_EQ(exp2_of_negative(-1), 0.5F);
  EXPECT_EQ(exp2_of_negative(-kInfinity), 0);
  EXPECT_EQ(exp2_of_negative(-1000), 0);
  EXPECT_EQ(exp2_of_negative(-127), 0);
  EXPECT_TRUE(std::isnan(exp2_of_negative(kNan)));
}

TEST(Log2, WithinTwoUlpOfTheLargerOfItselfAndOne) {
  double worst = 0;
  for_floats(std::numeric_limits<float>::min(), std::numeric_limits<float>::max(), [&](float x) {
    const double exact = std::log2(static_cast<double>(x));
    int exponent = 0;
    std::frexp(std::max(std::abs(exact), 1.0), &exponent);
    worst = std::max(worst, std::abs(static_cast<double>(log2_of(x)) - exact) / std::ldexp(1.0, exponent - 24));
  });
  EXPECT_LT(worst, 2) << "ulp";
  EXPECT_EQ(log2_of(1), 0);
  EXPECT_EQ(log2_of(8), 3);
  EXPECT_TRUE(std::isnan(log2_of(kNan)));
}

}  // namespace
}  // namespace dikkat
