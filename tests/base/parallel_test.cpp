#include "autograd/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/error.h"
#include "autograd/base/scratch.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

constexpr Work kMuch{1e12};

TEST(Parallel, EachTileOnce) {
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads);
    for (const index tiles : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> even(static_cast<std::size_t>(tiles));
      std::vector<std::atomic<int>> uneven(static_cast<std::size_t>(tiles));
      parallel_for(tiles, [&](index tile) { ++even[static_cast<std::size_t>(tile)]; });
      std::atomic<int> prepared{0};
      parallel_for_uneven(
          tiles, kMuch, [&] { ++prepared; },
          [&](index tile) {
            ++uneven[static_cast<std::size_t>(tile)];
            EXPECT_GT(prepared, 0);
          });
      EXPECT_EQ(prepared, threads) << "every thread prepares, with or without a tile";
      for (index i = 0; i < tiles; ++i) {
        EXPECT_EQ(even[static_cast<std::size_t>(i)], 1);
        EXPECT_EQ(uneven[static_cast<std::size_t>(i)], 1);
      }
    }
  }
}

TEST(Parallel, NestedLoopsRunOnTheThreadThatMeetsThem) {
  const WithThreads with(4);
  std::vector<std::atomic<int>> counts(64);
  std::atomic<int> strayed{0};
  parallel_for(8, [&](index outer) {
    const auto self = std::this_thread::get_id();
    parallel_for(8, [&](index inner) {
      ++counts[static_cast<std::size_t>(outer * 8 + inner)];
      strayed += std::this_thread::get_id() == self ? 0 : 1;
    });
  });
  for (const auto& count : counts) {
    EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(strayed, 0);
}

TEST(Parallel, BlocksCoverAllOnce) {
  for (const index n : {0, 1, 63, 64, 65, 1000}) {
    std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));
    parallel_blocks(n, 64, kMuch, [&](index begin, index end) {
      EXPECT_LE(end - begin, 64);
      for (index i = begin; i < end; ++i) {
        ++counts[static_cast<std::size_t>(i)];
      }
    });
    for (const auto& count : counts) {
      EXPECT_EQ(count, 1);
    }
  }
}

TEST(Parallel, RangesCoverAllOnceAndAreAsManyAsThreads) {
  const WithThreads with(4);
  for (const index n : {3, 100}) {
    std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));
    std::atomic<int> ranges{0};
    parallel_ranges(
        n, kMuch, [] {},
        [&](index begin, index end) {
          ++ranges;
          for (index i = begin; i < end; ++i) {
            ++counts[static_cast<std::size_t>(i)];
          }
        });
    EXPECT_EQ(ranges, std::min<index>(n, 4));
    for (const auto& count : counts) {
      EXPECT_EQ(count, 1);
    }
  }
}

TEST(Parallel, SeveralThreadsTakePart) {
  const WithThreads with(3);
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  parallel_for(3, [&](index) {
    ++inside;
    for (int patience = 0; inside < 3 && patience < 10'000'000; ++patience) {
      std::this_thread::yield();
    }
    met += inside == 3 ? 1 : 0;
  });
  EXPECT_EQ(met, 3) << "all three are inside at once";
}

TEST(Parallel, AnExceptionInATileOrBeforeItIsThrownByTheLoop) {
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads);
    EXPECT_EQ(error_of([] { parallel_for(100, [](index tile) { require(tile != 57, "tile 57"); }); }), "tile 57");
    EXPECT_EQ(
        error_of([] { parallel_for(100, kMuch, [] { fail("no memory"); }, [](index) { ADD_FAILURE() << "its thread has no memory"; }); }),
        "no memory");
    std::atomic<int> done{0};
    parallel_for(100, [&](index) { ++done; });
    EXPECT_EQ(done, 100) << "the next loop works as usual";
  }
}

TEST(Parallel, ATileThatWaitsForAnotherLearnsThatTheLoopHasFailed) {
  const WithThreads with(2);
  std::atomic<bool> waits = false;
  EXPECT_EQ(error_of([&] {
              parallel_for_uneven(
                  2, kMuch, [] {},
                  [&](index tile) {
                    if (tile == 0) {
                      while (!waits) {  // until the other thread has begun tile 1
                      }
                      fail("tile 0");
                    }
                    parallel_for(3, [](index) {});  // a loop within the tile changes nothing
                    EXPECT_FALSE(parallel_loop_failed());
                    waits = true;
                    while (!parallel_loop_failed()) {
                    }
                  });
            }),
            "tile 0");
}

TEST(Parallel, OnlyRequestsForMemoryRunInADryRun) {
  const WithThreads with(3);
  int asked = 0;
  const DryRun dry;
  EXPECT_TRUE(DryRun::active());
  const auto ask = [&] {
    ++asked;
    const Scratch<char> of_each(128), nested(64);
  };
  {
    const Scratch<char> own(1024);
    parallel_for(8, kMuch, [&] { ask(); }, [](index) { ADD_FAILURE(); });
  }
  {
    const Scratch<char> given_back_before(512);
  }
  parallel_for(8, kMuch, [&] { ask(); }, [](index) { ADD_FAILURE(); });
  parallel_for_uneven(8, kMuch, [&] { ask(); }, [](index) { ADD_FAILURE(); });
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(dry.scratch_bytes(3), 1024U + 3 * 192U);
}

TEST(Parallel, ThreadsCanBeStartedBeforehand) {
  const WithThreads with(3);
  start_threads();
  std::atomic<int> done{0};
  parallel_for(10, [&](index) { ++done; });
  EXPECT_EQ(done, 10);
}

TEST(Parallel, OneThreadMeansThisOne) {
  const WithThreads with(4);
  {
    const WithThreads one(1);
    EXPECT_EQ(thread_count(), 1);
    const auto self = std::this_thread::get_id();
    parallel_for(100, [&](index) { EXPECT_EQ(std::this_thread::get_id(), self); });
  }
  EXPECT_EQ(thread_count(), 4);
}

TEST(Parallel, ALoopOfLittleWorkRunsOnlyOnTheCaller) {
  const WithThreads with(3);
  const auto self = std::this_thread::get_id();
  const auto before = parallel_loops();
  std::atomic<int> prepared{0};
  std::atomic<int> strayed{0};
  const auto run = [&](Work work) {
    parallel_for(100, work, [&] { ++prepared; }, [&](index) { strayed += std::this_thread::get_id() == self ? 0 : 1; });
  };
  run({kLeastWork.multiply_adds - 1});
  EXPECT_EQ(strayed, 0);
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(parallel_loops(), before);
  run(kLeastWork);
  EXPECT_EQ(prepared, 1 + 3);
  EXPECT_EQ(parallel_loops(), before + 1);
  const WithThreads all(3, Work{0});
  run({0});
  EXPECT_EQ(parallel_loops(), before + 2);
}

#if defined(__SSE__)
TEST(Parallel, DenormalsAreFlushedInLoopsAndNotAfterThem) {
  const unsigned before = _mm_getcsr();
  volatile float smallest = std::numeric_limits<float>::min();
  for (const int threads : {1, 3}) {
    const WithThreads with(threads);
    std::atomic<int> kept{0};
    parallel_for(100, [&](index) { kept += smallest / 2 == 0 ? 0 : 1; });
    EXPECT_EQ(kept, 0) << "in a loop";
    EXPECT_GT(smallest / 2, 0) << "after it";
    EXPECT_EQ(_mm_getcsr() & 0xFFC0U, before & 0xFFC0U);
  }
}
#endif

TEST(Parallel, RefusesNoThreads) {
  const int before = thread_count();
  EXPECT_TRUE(names(error_of([] { set_thread_count(0); }), {"threads", "0", "1"}));
  EXPECT_TRUE(names(error_of([] { set_thread_count(-3); }), {"threads", "-3", "1"}));
  EXPECT_EQ(thread_count(), before);
}

}  // namespace
}  // namespace dikkat
