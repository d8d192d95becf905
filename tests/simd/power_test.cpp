#include "autograd/simd/power.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/denormals.h"
#include "tests/support/over_floats.h"

namespace dikkat {
namespace {

using testing::kFloatLanes;
using testing::kInfinity;
using testing::kNan;
using testing::ulps;

constexpr float kLeastNormal = std::numeric_limits<float>::min(), kLargest = std::numeric_limits<float>::max();
constexpr double kPowerUlps = 0.54;

float pow_of(float x, float y) { return simd::pow(simd::broadcast(x), simd::broadcast(y))[2]; }

/// The result of the C library in f64, which is exact beside f32.
double exact_pow(float x, float y) { return std::pow(static_cast<double>(x), static_cast<double>(y)); }

/// Whether `found` is a float, 0, infinity or NaN as `exact` is.
bool is_of_its_kind(float found, double exact) {
  if (std::isnan(exact)) {
    return std::isnan(found);
  }
  return std::signbit(found) == std::signbit(exact) && std::abs(found) == std::abs(static_cast<float>(exact));
}

/// Compares vectors of numbers that make(x, y) sets.
template <class Make>
void compare_powers(int vectors, Make&& make) {
  double worst = 0;
  for (int i = 0; i < vectors; ++i) {
    simd::Vec<float> x{}, y{};
    for (int lane = 0; lane < testing::kFloatLanes; ++lane) {
      float a = 0, b = 0;
      make(a, b);
      x[lane] = a;
      y[lane] = b;
    }
    const simd::Vec<float> found = simd::pow(x, y);
    for (int lane = 0; lane < testing::kFloatLanes; ++lane) {
      const double exact = exact_pow(x[lane], y[lane]), size = std::abs(exact);
      if (size >= static_cast<double>(kLeastNormal) && size <= static_cast<double>(kLargest)) {
        worst = std::max(worst, ulps(found[lane], exact));
      } else if (size < 0x1p-151 || !(size < 0x1p129)) {
        EXPECT_TRUE(is_of_its_kind(found[lane], exact)) << x[lane] << " to the power " << y[lane] << " is " << found[lane];
      }
    }
  }
  EXPECT_LT(worst, kPowerUlps) << "ulp";
  ::testing::Test::RecordProperty("worst_ulp", std::to_string(worst));
}

/// A random number from -1 to 1.
float signed_fraction(std::mt19937& random) { return static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F; }

TEST(Power, ErrorOverAllPositiveFloats) {
  std::mt19937 random(1);
  compare_powers(40'000, [&](float& x, float& y) {
    x = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x7FFF'FFFFU);
    // The result is any float, or a little beyond.
    y = static_cast<float>(155 * static_cast<double>(signed_fraction(random)) / std::log2(static_cast<double>(x)));
  });
}

TEST(Power, ErrorNearOne) {
  std::mt19937 random(2);
  compare_powers(40'000, [&](float& x, float& y) {
    x = 1 + signed_fraction(random) * std::ldexp(0.5F, -static_cast<int>(random() % 23));
    y = static_cast<float>(127 * static_cast<double>(signed_fraction(random)) /
                           std::max(0x1p-24, std::abs(std::log2(static_cast<double>(x)))));
  });
}

TEST(Power, ErrorOfIntegerPowers) {
  std::mt19937 random(3);
  compare_powers(40'000, [&](float& x, float& y) {
    x = signed_fraction(random) * std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);
    y = static_cast<float>(static_cast<int>(random() % 25) - 12);
  });
}

TEST(Power, ExactResultsAreExact) {
  EXPECT_EQ(pow_of(3, 5), 243);
  EXPECT_EQ(pow_of(-3, 5), -243);
  EXPECT_EQ(pow_of(10, 10), 1e10F);
  EXPECT_EQ(pow_of(2, -126), kLeastNormal);
  EXPECT_EQ(pow_of(2, 127), 0x1p127F);
  EXPECT_EQ(pow_of(2, 128), kInfinity);
  EXPECT_EQ(pow_of(1.5F, 2), 2.25F);
  EXPECT_EQ(pow_of(6.25F, 0.5F), 2.5F);
  EXPECT_EQ(pow_of(kLargest, 1), kLargest);
  EXPECT_EQ(pow_of(kLeastNormal, 1), kLeastNormal);
}

/// The numbers for which the C standard gives results, others near them, and some ordinary ones.
const std::vector<float>& special_numbers() {
  static const std::vector<float> numbers = [] {
    std::vector<float> both = {kNan};
    for (const float x :
         {0.0F,       1e-45F,     1e-40F,     1e-30F,      0.25F,       0.5F,          0.99999994F, 1.0F,       1.0000001F, 1.5F,
          2.0F,       2.5F,       3.0F,       33.0F,       100.0F,      101.0F,        4194303.5F,  4194304.5F, 4194305.0F, 8388607.0F,
          8388607.5F, 8388608.0F, 8388609.0F, 16777215.0F, 16777216.0F, 2147483648.0F, 1e30F,       kLargest,   kInfinity}) {
      both.push_back(x);
      both.push_back(-x);
    }
    return both;
  }();
  return numbers;
}

TEST(Power, SpecialNumbersAreThoseOfTheCStandard) {
  const KeepDenormals kept;
  for (const float x : special_numbers()) {
    for (const float y : special_numbers()) {
      const double exact = exact_pow(x, y);
      const float found = pow_of(x, y);
      if (std::isfinite(static_cast<float>(exact)) && std::abs(exact) >= static_cast<double>(kLeastNormal)) {
        EXPECT_LT(ulps(found, exact), kPowerUlps) << x << " to the power " << y << " is " << found;
      } else {
        EXPECT_TRUE(is_of_its_kind(found, exact)) << x << " to the power " << y << " is " << found << ", expected " << exact;
      }
    }
  }
}

TEST(Power, FlushedDenormalNumbersAreZero) {
  const FlushDenormals flushed;
  const volatile float denormal = 1e-40F, small = 1e-20F;  // volatile: compilers compute nothing before denormals are flushed
  EXPECT_EQ(pow_of(denormal, -1), kInfinity);
  EXPECT_EQ(pow_of(denormal, 0.5F), 0);
  EXPECT_EQ(pow_of(small, 2), 0);
  EXPECT_EQ(pow_of(denormal, 0), 1);
}

TEST(Power, LanesAreApart) {
  std::vector<float> x, y;
  for (const float a : special_numbers()) {
    for (const float b : {2.0F, -3.0F, 0.5F, 0.0F, kInfinity, kNan, -1e30F}) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  testing::expect_lanes_apart(x, y, [](auto a, auto b) { return simd::pow(a, b); });
}

}  // namespace
}  // namespace dikkat
