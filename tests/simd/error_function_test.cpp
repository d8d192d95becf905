#include "autograd/simd/error_function.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

constexpr double kErfUlps = 1.4;

simd::Vec<float> erf_of(simd::Vec<float> x) { return simd::erf(x); }

TEST(ErrorFunction, ErrorOverAllFloats) {
  double worst = 0;
  std::int64_t outside = 0;
  testing::over_all_floats(erf_of, [&](float x, float y) {
    if (std::isnan(x)) {
      outside += std::isnan(y) ? 0 : 1;
    } else if (std::abs(x) >= std::numeric_limits<float>::min()) {
      worst = std::max(worst, ulps(y, std::erf(static_cast<double>(x))));
      outside += std::abs(y) <= 1 && std::signbit(x) == std::signbit(y) ? 0 : 1;
    }
  });
  EXPECT_EQ(outside, 0) << "NaN for NaN, and nothing is beyond 1 or of another sign";
  EXPECT_LT(worst, kErfUlps) << "ulp";
  RecordProperty("worst_ulp", std::to_string(worst));
}

// The range where the result is neither near x nor 1, more densely. It has the border of both polynomials.
TEST(ErrorFunction, ErrorFromAQuarterToFour) {
  double worst = 0;
  const auto end = std::bit_cast<std::uint32_t>(4.25F);
  for (auto bits = std::bit_cast<std::uint32_t>(0.25F); bits < end; bits += 47) {
    simd::Vec<float> x{};
    for (int lane = 0; lane < testing::kFloatLanes; ++lane, bits += 47) {
      x[lane] = std::bit_cast<float>(bits);
    }
    const simd::Vec<float> y = simd::erf(x);
    for (int lane = 0; lane < testing::kFloatLanes; ++lane) {
      worst = std::max(worst, ulps(y[lane], std::erf(static_cast<double>(x[lane]))));
    }
  }
  EXPECT_LT(worst, kErfUlps) << "ulp";
}

TEST(ErrorFunction, AtItsEnds) {
  const auto at = [](float x) { return simd::erf(simd::broadcast(x))[1]; };
  EXPECT_EQ(at(0.0F), 0);
  EXPECT_FALSE(std::signbit(at(0.0F)));
  EXPECT_EQ(at(-0.0F), 0);
  EXPECT_TRUE(std::signbit(at(-0.0F))) << "-0";
  EXPECT_EQ(at(kInfinity), 1);
  EXPECT_EQ(at(-kInfinity), -1);
  EXPECT_EQ(at(std::numeric_limits<float>::max()), 1);
  EXPECT_EQ(at(4), 1);
  EXPECT_LT(at(3.5F), 1);
  EXPECT_TRUE(std::isnan(at(kNan)));
}

TEST(ErrorFunction, LanesAreApart) {
  const std::vector<float> x = {0.0F, -0.0F, 0.3F,      -0.9F,      1.0F,  -1.1F,  2.5F, -3.9F,
                                5.0F, kNan,  kInfinity, -kInfinity, 1e30F, 1e-30F, -0.5F};
  testing::expect_lanes_apart(x, x, [](auto v, auto) { return simd::erf(v); });
}

}  // namespace
}  // namespace dikkat
