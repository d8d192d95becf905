#include "autograd/base/exp.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

constexpr float kHighest = 88.7228317F;  // the last float below log(FLT_MAX)
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float exp_of(float x) { return simd::exp(simd::broadcast(x))[3]; }

// 2 ulp of the result, which has 24 bits: a relative error of 2^-22 at most.
TEST(Exp, WithinTwoUlpOverAllFloats) {
  parallel_for(1, [](index) {});  // denormals are flushed from here on, as in kernels: no step on the way may be one
  double worst = 0;
  std::int64_t outside = 0;
  for (std::uint64_t first = 0; first < 1ULL << 32; first += 16 * 1000) {
    simd::Vec<float> x{};
    for (int lane = 0; lane < 16; ++lane) {
      x[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(first + static_cast<std::uint64_t>(lane) * 1000));
    }
    const simd::Vec<float> y = simd::exp(x);
    for (int lane = 0; lane < 16; ++lane) {
      const float value = x[lane];
      if (std::isnan(value)) {
        outside += std::isnan(y[lane]) ? 0 : 1;
      } else if (value < -86.9F) {
        outside += y[lane] == 0 ? 0 : 1;
      } else if (value > kHighest) {
        outside += y[lane] == kInfinity ? 0 : 1;
      } else {
        const double exact = std::exp(static_cast<double>(value));
        int exponent = 0;
        std::frexp(exact, &exponent);
        worst = std::max(worst, std::abs(static_cast<double>(y[lane]) - exact) / std::ldexp(1.0, exponent - 24));
      }
    }
  }
  EXPECT_EQ(outside, 0) << "of NaN is NaN, below the range 0, above it infinity";
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
  EXPECT_GE(exp_of(-86.9F), std::numeric_limits<float>::min()) << "a normal number";
  EXPECT_EQ(exp_of(std::nextafter(-86.9F, -kInfinity)), 0);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(exp_of(std::numeric_limits<float>::lowest()), 0);
}

TEST(Exp, LanesAreApart) {
  simd::Vec<float> x{};
  for (int lane = 0; lane < 16; ++lane) {
    x[lane] = lane % 4 == 0 ? kInfinity : lane % 4 == 1 ? -kInfinity : lane % 4 == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
  }
  const simd::Vec<float> y = simd::exp(x);
  for (int lane = 0; lane < 16; lane += 4) {
    EXPECT_EQ(y[lane], kInfinity);
    EXPECT_EQ(y[lane + 1], 0);
    EXPECT_TRUE(std::isnan(y[lane + 2]));
    EXPECT_FLOAT_EQ(y[lane + 3], 2.7182818F);
  }
}

TEST(Exp, NeverFallsWhereItsArgumentRises) {
  float before = 0;
  for (float x = -87; x < 89; x += 0.0007F) {
    const float y = exp_of(x);
    EXPECT_GE(y, before * (1 - 2.5e-7F)) << x;
    before = y;
  }
}

}  // namespace
}  // namespace dikkat
