#include "train/web/report/sparkline.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Sparkline, goes_from_the_lowest_to_the_highest) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 40), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(std::vector<double>{4, 4, 2, 2, 0, 0}, 3), "█▅▁") << "the mean of each piece";
}

TEST(Sparkline, takes_numbers_that_are_not_finite) {
  EXPECT_EQ(sparkline(std::vector<double>{1, kNone, 2}, 3), "▁ █");
  EXPECT_EQ(sparkline(std::vector<double>{kNone}, 3), "");
  EXPECT_EQ(sparkline(std::vector<double>{}, 3), "");
  EXPECT_EQ(sparkline(std::vector<double>{3, 3}, 3), "▁▁");
}

}  // namespace
}  // namespace dikkat
