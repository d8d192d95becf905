// Tests each limit of a range, or every third if DIKKAT_LONG_TESTS is not set.
#include <cstdlib>

#include "tests/train/cli/limited_memory.h"

namespace dikkat::testing {
namespace {

constexpr std::size_t kMega = 1'000'000;

std::size_t steps_of(std::size_t megabytes) { return std::getenv("DIKKAT_LONG_TESTS") != nullptr ? megabytes : 3 * megabytes; }

TEST(LimitedMemory, EndsWellWithAnyLimit) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizer maps terabytes";
  }
  const Workspace workspace;
  int worked = 0;
  for (std::size_t megabytes = 20; megabytes <= 600; megabytes += steps_of(10)) {
    worked += train_within(workspace, megabytes * kMega) ? 1 : 0;
    std::filesystem::remove_all(workspace / ("limited-" + std::to_string(megabytes * kMega)));
  }
  EXPECT_GT(worked, 0);
}

TEST(LimitedMemory, EndsWellForALargerModelToo) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizer maps terabytes";
  }
  const Workspace workspace;
  const Words larger = {"model.n_embd=256", "model.n_layer=4", "train.max_steps=4", "train.eval_interval=2", "train.checkpoint_interval=2"};
  for (std::size_t megabytes = 80; megabytes <= 800; megabytes += steps_of(30)) {
    train_within(workspace, megabytes * kMega, larger);
    std::filesystem::remove_all(workspace / ("limited-" + std::to_string(megabytes * kMega)));
  }
}

}  // namespace
}  // namespace dikkat::testing
