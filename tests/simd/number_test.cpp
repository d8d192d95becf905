#include "autograd/simd/number.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using simd::Number;
using OfOne = simd::Dual<float, 1>;
using OfTwo = simd::Dual<float, 2>;

OfOne variable_of(float x) { return OfOne::variable(Number<float>(x), 0); }

void expect_near(Number<float> found, double exact, const char* name) {
  for (index lane = 0; lane < simd::kLanes<float>; ++lane) {
    EXPECT_NEAR(found.lanes[lane], exact, 1e-6 * std::abs(exact)) << name;
  }
}

// In f64, tests/ops compares derivatives with differences.
TEST(Number, DerivativesOfF32) {
  for (const float x : {-2.75F, -0.5F, 0.125F, 1.25F, 3.0F}) {
    const auto v = static_cast<double>(x);
    expect_near(sin(variable_of(x)).slopes[0], std::cos(v), "sin");
    expect_near(cos(variable_of(x)).slopes[0], -std::sin(v), "cos");
    expect_near(erf(variable_of(x)).slopes[0], 1.1283791670955126 * std::exp(-v * v), "erf");
    for (const float e : {-2.0F, 1.0F, 2.0F, 3.0F, 4.0F}) {
      expect_near(pow(variable_of(x), e).value, std::pow(v, static_cast<double>(e)), "pow");
      expect_near(pow(variable_of(x), e).slopes[0], static_cast<double>(e) * std::pow(v, static_cast<double>(e) - 1), "pow");
    }
    const OfTwo power = pow(OfTwo::variable(Number<float>(std::abs(x)), 0), OfTwo::variable(Number<float>(1.5F), 1));
    expect_near(power.slopes[0], 1.5 * std::pow(std::abs(v), 0.5), "pow by x");
    expect_near(power.slopes[1], std::pow(std::abs(v), 1.5) * std::log(std::abs(v)), "pow by y");
  }
}

TEST(Number, DerivativesOfPowersAtZero) {
  expect_near(pow(variable_of(0), 0).value, 1, "x^0");
  expect_near(pow(variable_of(0), 0).slopes[0], 0, "x^0");
  expect_near(pow(variable_of(0), 1).slopes[0], 1, "x^1");
  expect_near(pow(variable_of(0), 2).slopes[0], 0, "x^2");
  expect_near(pow(variable_of(0), 2.5).slopes[0], 0, "x^2.5");
  EXPECT_EQ(pow(variable_of(0), 0.5).slopes[0].lanes[0], std::numeric_limits<float>::infinity());
  const OfTwo power = pow(OfTwo::variable(Number<float>(0), 0), OfTwo::variable(Number<float>(2), 1));
  expect_near(power.slopes[1], 0, "by the exponent");
}

TEST(Number, FirstPowersAreProducts) {
  EXPECT_EQ(pow(Number<float>(-3), 1).lanes[0], -3);
  EXPECT_EQ(pow(Number<float>(-3), 2).lanes[0], 9);
  EXPECT_EQ(pow(Number<float>(-3), 3).lanes[0], -27);
  EXPECT_EQ(pow(Number<double>(-3), 3).lanes[0], -27);
  EXPECT_EQ(pow(Number<float>(-3), 4).lanes[0], 81);
}

}  // namespace
}  // namespace dikkat
