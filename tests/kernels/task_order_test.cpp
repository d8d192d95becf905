#include "autograd/kernels/task_order.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat::kernels::task_order_test {
namespace {

using testing::error_of;

constexpr Work kMuch{1e12};

TEST(TaskOrder, TasksTakeTheirStepsOneAfterTheOther) {
  constexpr index kTasks = 40, kSteps = 5;
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads);
    TaskOrder order(kTasks);
    std::vector<std::vector<index>> taken(kSteps);  // the tasks that have taken a step: written by one at a time
    parallel_for_uneven(
        kTasks, kMuch, [] {},
        [&](index task) {
          for (index step = 0; step < kSteps; ++step) {
            if (task > 0) {
              order.wait(task - 1, step + 1);
            }
            taken[static_cast<std::size_t>(step)].push_back(task);
            order.report(task, step + 1);
          }
        });
    for (const std::vector<index>& tasks : taken) {
      ASSERT_EQ(std::ssize(tasks), kTasks) << threads;
      for (index i = 0; i < kTasks; ++i) {
        EXPECT_EQ(tasks[static_cast<std::size_t>(i)], i) << threads;
      }
    }
  }
}

// Without the check of parallel_loop_failed(), task 1 would wait for ever.
TEST(TaskOrder, WaitingEndsWhenTheOtherTaskHasFailed) {
  const WithThreads with(2);
  TaskOrder order(2);
  std::atomic<bool> waits = false;
  EXPECT_EQ(error_of([&] {
              parallel_for_uneven(
                  2, kMuch, [] {},
                  [&](index task) {
                    if (task == 0) {
                      order.report(0, 1);
                      while (!waits) {  // until the other thread has begun task 1
                      }
                      fail("task 0");
                    }
                    order.wait(0, 1);
                    waits = true;
                    order.wait(0, 2);
                    ADD_FAILURE() << "task 0 has taken one step";
                  });
            }),
            "task 0");
}

}  // namespace
}  // namespace dikkat::kernels::task_order_test
