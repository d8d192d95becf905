#include "autograd/simd/simd.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat::simd {
namespace {

TEST(Simd, ForVectorsCoversEachElementOnce) {
  for (index n = 0; n < 70; ++n) {
    std::vector<float> x(static_cast<std::size_t>(n) + 1, 2.0F);
    for_vectors<float>(0, n, [&](index at, auto lanes) { store(x.data() + at, load(x.data() + at, lanes) + 1.0F, lanes); });
    for (index i = 0; i < n; ++i) {
      EXPECT_EQ(x[static_cast<std::size_t>(i)], 3);
    }
    EXPECT_EQ(x.back(), 2) << "past the end";
  }
}

TEST(Simd, APartsOtherLanesAreTheRest) {
  const float x[kLanes<float>] = {1, 2, 3};
  const Vec<float> v = load(x, Part{3}, 7.0F);
  for (int lane = 0; lane < kLanes<float>; ++lane) {
    EXPECT_EQ(v[lane], lane < 3 ? x[lane] : 7);
  }
  EXPECT_EQ(sum<float>(load(x, Part{3})), 6);
  EXPECT_EQ(max<float>(load(x, Part{3})), 3);
}

TEST(Simd, BroadcastKeepsTheSignOfZero) {
  EXPECT_FALSE(std::signbit(broadcast(0.0F)[0]));
  EXPECT_TRUE(std::signbit(broadcast(-0.0F)[0]));
}

}  // namespace
}  // namespace dikkat::simd
