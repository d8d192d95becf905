#include "autograd/base/simulated_threads.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

constexpr Work kMuch{1e12};

TEST(LoopTimes, TheLongestShareOfEqualNumbersInOrder) {
  const LoopTimes loop{.even = true, .seconds = {1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(loop.sum(), 28);
  EXPECT_EQ(loop.longest(1), 28);
  EXPECT_EQ(loop.longest(2), 18) << "1 to 4, and 5 to 7";
  EXPECT_EQ(loop.longest(3), 13) << "1 to 3, 4 and 5, 6 and 7";
  EXPECT_EQ(loop.longest(9), 7);
}

TEST(LoopTimes, UnevenTilesGoToTheThreadThatIsFreeFirst) {
  const LoopTimes loop{.even = false, .seconds = {7, 1, 1, 1, 1, 1, 1, 1}};
  EXPECT_EQ(loop.longest(2), 7);
  EXPECT_EQ(loop.longest(1), 14);
}

TEST(SimulatedThreads, DoAllTilesOnThisThreadAsOftenAsThereAreThreads) {
  const auto self = std::this_thread::get_id();
  std::vector<int> counts(100);
  const SimulatedThreads eight(8);
  EXPECT_EQ(thread_count(), 8);
  parallel_ranges(
      100, kMuch, [] {},
      [&](index begin, index end) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(thread_count(), 1);
        for (index i = begin; i < end; ++i) {
          ++counts[static_cast<std::size_t>(i)];
        }
        parallel_for(3, [](index) {});  // within a tile: part of its time
      });
  EXPECT_EQ(counts, std::vector<int>(100, 1));
  ASSERT_EQ(eight.loops().size(), 1U);
  EXPECT_EQ(eight.loops()[0].seconds.size(), 8U);
  parallel_for(100, Work{1}, [](index) {});  // too small for several threads
  EXPECT_EQ(eight.loops().size(), 1U);
  EXPECT_EQ(testing::error_of([] { parallel_for(4, [](index tile) { require(tile != 2, "tile 2"); }); }), "tile 2");
}

}  // namespace
}  // namespace dikkat
