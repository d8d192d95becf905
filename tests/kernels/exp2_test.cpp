#include "autograd/kernels/exp2.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"

namespace dikkat::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float exp2_of(float x) { return exp2_of_negative(simd::broadcast(x))[1]; }
float log2_of(float x) { return log2_of_positive(simd::broadcast(x))[1]; }

/// Every 1009th float from `first` to `last`, by their bits.
template <class F>
void for_floats(float first, float last, F&& f) {
  const auto end = std::bit_cast<std::uint32_t>(last);
  for (auto bits = std::bit_cast<std::uint32_t>(first); bits < end; bits += 1009) {
    f(std::bit_cast<float>(bits));
  }
}

TEST(Exp2, WithinTwoUlpBelowZero) {
  parallel_for(1, [](index) {});  // denormals are flushed from here on, as in kernels
  double worst = 0;
  for_floats(-0.0F, -126.0F, [&](float x) {
    const double exact = std::exp2(static_cast<double>(x));
    int exponent = 0;
    std::frexp(exact, &exponent);
    worst = std::max(worst, std::abs(static_cast<double>(exp2_of(x)) - exact) / std::ldexp(1.0, exponent - 24));
  });
  EXPECT_LT(worst, 2) << "ulp";
}

TEST(Exp2, AtItsEnds) {
  EXPECT_EQ(exp2_of(0), 1);
  EXPECT_EQ(exp2_of(3), 1) << "what is above 0 counts as 0";
  EXPECT_EQ(exp2_of(-1), 0.5F);
  EXPECT_EQ(exp2_of(-kInfinity), 0);
  EXPECT_EQ(exp2_of(-1000), 0);
  EXPECT_EQ(exp2_of(-127), 0);
  EXPECT_TRUE(std::isnan(exp2_of(kNan)));
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
}  // namespace dikkat::kernels
