#include "autograd/simd/sine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
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

constexpr float kReduced = 0x1p22F;  // up to which angles are reduced in vectors
constexpr double kSineUlps = 1.6;

using FunctionOfVector = simd::Vec<float> (*)(simd::Vec<float>);
using FunctionOfF64 = double (*)(double);

struct SineCase {
  const char* name;
  FunctionOfVector function;
  FunctionOfF64 exact;
};
const SineCase kSineCases[] = {{"sin", simd::sin, [](double x) { return std::sin(x); }},
                               {"cos", simd::cos, [](double x) { return std::cos(x); }}};

TEST(Sine, ErrorOverAllFloats) {
  for (const SineCase& c : kSineCases) {
    SCOPED_TRACE(c.name);
    double worst = 0;
    std::int64_t outside = 0;
    testing::over_all_floats(c.function, [&](float x, float y) {
      if (!std::isfinite(x)) {
        outside += std::isnan(y) ? 0 : 1;
      } else if (std::abs(x) >= std::numeric_limits<float>::min()) {
        worst = std::max(worst, ulps(y, c.exact(static_cast<double>(x))));
        outside += std::abs(y) <= 1 ? 0 : 1;
      }
    });
    EXPECT_EQ(outside, 0) << "NaN for infinity and NaN, and nothing is beyond 1";
    EXPECT_LT(worst, kSineUlps) << "ulp";
    RecordProperty(std::string("worst_ulp_of_") + c.name, std::to_string(worst));
  }
}

// The angles nearest to multiples of pi / 2, where the reduction cancels most digits.
TEST(Sine, ErrorNextToMultiplesOfAQuarterTurn) {
  for (const SineCase& c : kSineCases) {
    SCOPED_TRACE(c.name);
    double worst = 0;
    for (int n = 1; n * (std::numbers::pi / 2) < static_cast<double>(kReduced); n += n < 10'000 ? 1 : 17) {
      const auto x = static_cast<float>(n * (std::numbers::pi / 2));
      simd::Vec<float> angles = simd::broadcast(x);
      angles[1] = std::nextafter(x, kInfinity);
      angles[2] = std::nextafter(x, -kInfinity);
      const simd::Vec<float> y = c.function(angles);
      for (int lane = 0; lane < 3; ++lane) {
        if (angles[lane] <= kReduced) {
          worst = std::max(worst, ulps(y[lane], c.exact(static_cast<double>(angles[lane]))));
        }
      }
    }
    EXPECT_LT(worst, kSineUlps) << "ulp";
  }
}

TEST(Sine, AtZero) {
  EXPECT_FALSE(std::signbit(simd::sin(simd::broadcast(0.0F))[1]));
  EXPECT_TRUE(std::signbit(simd::sin(simd::broadcast(-0.0F))[1])) << "-0";
  EXPECT_EQ(simd::sin(simd::broadcast(-0.0F))[1], 0);
  EXPECT_EQ(simd::cos(simd::broadcast(0.0F))[1], 1);
  EXPECT_EQ(simd::cos(simd::broadcast(-0.0F))[1], 1);
  const KeepDenormals kept;
  constexpr float kDenormal = 1e-42F;
  EXPECT_EQ(simd::sin(simd::broadcast(-kDenormal))[1], -kDenormal);
}

TEST(Sine, AtTheLargestAngleOfTheReduction) {
  for (const SineCase& c : kSineCases) {
    for (const float x : {kReduced, std::nextafter(kReduced, kInfinity), std::nextafter(kReduced, 0.0F), 1e30F}) {
      EXPECT_LT(ulps(c.function(simd::broadcast(x))[2], c.exact(static_cast<double>(x))), kSineUlps) << c.name << " of " << x;
      EXPECT_LT(ulps(c.function(simd::broadcast(-x))[2], c.exact(static_cast<double>(-x))), kSineUlps) << c.name << " of -" << x;
    }
  }
}

TEST(Sine, OfTurns) {
  double worst = 0;
  for (std::uint64_t first = 0; first < 1ULL << 32; first += kFloatLanes * 1009) {
    simd::Vec<std::uint32_t> turns{};
    for (std::uint32_t lane = 0; lane < kFloatLanes; ++lane) {
      turns[lane] = static_cast<std::uint32_t>(first) + lane * 1009;
    }
    const auto [sine, cosine] = simd::sine_and_cosine_of_turns(turns);
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(turns[lane]) * 0x1p-32;
      worst = std::max({worst, std::abs(static_cast<double>(sine[lane]) - std::sin(angle)),
                        std::abs(static_cast<double>(cosine[lane]) - std::cos(angle))});
    }
  }
  EXPECT_LT(worst, 0x1p-23);
  // Multiples of a quarter turn are exact.
  const auto [sine, cosine] = simd::sine_and_cosine_of_turns(simd::Vec<std::uint32_t>{0, 1U << 30, 2U << 30, 3U << 30});
  for (int quarter = 0; quarter < 4; ++quarter) {
    EXPECT_EQ(sine[quarter], std::lround(std::sin(quarter * std::numbers::pi / 2)));
    EXPECT_EQ(cosine[quarter], std::lround(std::cos(quarter * std::numbers::pi / 2)));
  }
}

TEST(Sine, LanesAreApart) {
  const std::vector<float> x = {0.0F,  -0.0F,  1.0F, -2.5F,      1e3F,      -4e6F, kReduced, -std::nextafter(kReduced, kInfinity),
                                1e9F,  -3e38F, kNan, -kInfinity, kInfinity, 7.0F,  1e-9F,    0.1F,
                                99.5F, -1.0F};
  for (const SineCase& c : kSineCases) {
    testing::expect_lanes_apart(x, x, [&](auto angles, auto) { return c.function(angles); });
  }
}

}  // namespace
}  // namespace dikkat
