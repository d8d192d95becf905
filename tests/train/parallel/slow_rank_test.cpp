#include "train/parallel/slow_rank.h"

#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(SlowRank, IsReportedOnceAfterTenSteps) {
  SlowRank slow;
  EXPECT_EQ(slow.take(std::vector<double>{9, 1, 1, 1}).rank, -1) << "the first step does not count";
  for (int step = 1; step < 10; ++step) {
    EXPECT_EQ(slow.take(std::vector<double>{1, 1, 1.5, 1}).rank, -1);
  }
  const SlowRank::Found found = slow.take(std::vector<double>{1, 1, 1.5, 1});
  EXPECT_EQ(found.rank, 2);
  EXPECT_DOUBLE_EQ(found.seconds, 1.5);
  EXPECT_DOUBLE_EQ(found.median, 1);
  int told = 0;
  for (int step = 0; step < 100; ++step) {
    told += slow.take(std::vector<double>{1, step < 50 ? 1 : 2.0, 1.5, 1}).rank == 1 ? 1 : 0;
  }
  EXPECT_EQ(told, 1) << "another one";
}

TEST(SlowRank, IsAbsentAmongEqualOnes) {
  SlowRank slow;
  EXPECT_EQ(slow.take({}).rank, -1) << "with one process";
  for (int step = 0; step < 100; ++step) {
    EXPECT_EQ(slow.take(std::vector<double>{1, 1.29}).rank, -1);
  }
  SlowRank of_two;
  int rank = -1;
  for (int step = 0; step <= 10; ++step) {
    rank = of_two.take(std::vector<double>{1.31, 1}).rank;
  }
  EXPECT_EQ(rank, 0);
}

}  // namespace
}  // namespace dikkat
