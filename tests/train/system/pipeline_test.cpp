#include "train/system/pipeline.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

TEST(Tasks, RunEachOnce) {
  std::vector<std::atomic<int>> runs(1000);
  run_tasks(1000, [&](index i) { ++runs[static_cast<std::size_t>(i)]; });
  EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const std::atomic<int>& count) { return count == 1; }));
  run_tasks(0, [](index) { FAIL(); });
}

TEST(Tasks, AllRunAlthoughSomeThrowAndTheFirstIsReported) {
  std::atomic<int> runs = 0;
  const std::string error = input_error_of([&] {
    run_tasks(1000, [&](index i) {
      ++runs;
      require_input(i % 100 != 73, "task ", i);
    });
  });
  EXPECT_EQ(error, "task 73");
  EXPECT_EQ(runs, 1000);
}

}  // namespace
}  // namespace dikkat
