#include "train/assistant/share_time.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat::assistant {
namespace {

TEST(AssistantTime, StagesFillTheTime) {
  const StageCost pretrain{.step_seconds = 0.25}, chats{.step_seconds = 0.25, .epoch_steps = 8},
      pairs{.step_seconds = 0.1, .epoch_steps = 20};
  const auto seconds_of = [&](const StageSteps& steps) {
    return 0.25 * static_cast<double>(steps.pretrain + steps.chats) + 0.1 * static_cast<double>(steps.preferences);
  };
  for (const double seconds : {30.0, 300.0, 3600.0}) {
    const StageSteps steps = share_time(seconds, pretrain, chats, pairs);
    EXPECT_NEAR(seconds_of(steps), seconds, 0.5) << "up to a step of each stage";
    EXPECT_GT(steps.pretrain, steps.chats);
  }
  const StageSteps hour = share_time(3600, pretrain, chats, pairs);
  EXPECT_EQ(hour.chats, 20 * 8) << "few chats are read at most 20 times";
  EXPECT_EQ(hour.preferences, 3 * 20);
  EXPECT_EQ(share_time(3600, pretrain, chats, {}).preferences, 0);
}

TEST(AssistantTime, ManyChatsGetAThird) {
  const StageSteps steps = share_time(3600, {.step_seconds = 1}, {.step_seconds = 1, .epoch_steps = 1e6}, {});
  EXPECT_EQ(steps.chats, 1200);
  EXPECT_EQ(steps.pretrain, 2400);
}

TEST(AssistantTime, ATrainedModelNeedsNoPretraining) {
  const StageSteps both = share_time(3600, {}, {.step_seconds = 1, .epoch_steps = 1e6}, {.step_seconds = 1, .epoch_steps = 1e6});
  EXPECT_EQ(both.pretrain, 0);
  EXPECT_EQ(both.preferences, 450);
  EXPECT_EQ(both.chats, 3150);
  EXPECT_EQ(share_time(3600, {}, {}, {.step_seconds = 1, .epoch_steps = 1e6}).preferences, 3600);
}

TEST(AssistantTime, RefusesATimeThatIsTooShort) {
  EXPECT_THROW(share_time(10, {.step_seconds = 1}, {.step_seconds = 1, .epoch_steps = 100}, {}), InputError);
  EXPECT_THROW(share_time(1, {}, {.step_seconds = 1, .epoch_steps = 1}, {}), InputError);
  const std::string message = testing::error_of([] { share_time(0.5, {}, {.step_seconds = 0.09806640468, .epoch_steps = 1}, {}); });
  EXPECT_TRUE(testing::names(message, {" 0.098 seconds"}));
}

}  // namespace
}  // namespace dikkat::assistant
