#include "autograd/base/denormals.h"

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

#if defined(__SSE__) || defined(__aarch64__)
constexpr bool kFlushesDenormals = true;
#else
constexpr bool kFlushesDenormals = false;
#endif

/// Half of the least normal number, computed now.
float half_of_least() {
  volatile float least = 0x1p-126F;
  return least / 2;
}

TEST(Denormals, AModeHoldsAsLongAsItsObjectLives) {
  EXPECT_EQ(half_of_least(), 0x1p-127F);
  {
    const FlushDenormals flush;
    EXPECT_EQ(half_of_least() == 0, kFlushesDenormals);
    {
      const KeepDenormals keep;
      EXPECT_EQ(half_of_least(), 0x1p-127F);
      {
        const FlushDenormals again;
        EXPECT_EQ(half_of_least() == 0, kFlushesDenormals);
      }
      EXPECT_EQ(half_of_least(), 0x1p-127F);
    }
    EXPECT_EQ(half_of_least() == 0, kFlushesDenormals);
  }
  EXPECT_EQ(half_of_least(), 0x1p-127F);
}

TEST(Denormals, ATileMayKeepThem) {
  parallel_for(2, [](index tile) {
    if (tile == 1) {
      const KeepDenormals keep;
      EXPECT_EQ(half_of_least(), 0x1p-127F);
    } else {
      EXPECT_EQ(half_of_least() == 0, kFlushesDenormals);
    }
  });
}

}  // namespace
}  // namespace dikkat
