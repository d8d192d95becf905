#include "train/run/assistant_plan.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

AssistantWish wish(double seconds, index bytes, double rate) {
  return {.seconds = seconds, .bytes = bytes, .flops_per_second = rate, .has_preferences = true};
}

double stages_of(const AssistantPlan& plan) {
  return plan.pretrain_seconds + plan.chats_seconds + plan.preferences_seconds + plan.other_seconds;
}

TEST(AssistantPlan, SharesTheTime) {
  for (const double seconds : {2.0, 300.0, 3600.0}) {
    EXPECT_NEAR(stages_of(plan_assistant(wish(seconds, 1 << 20, 1e11))), seconds, 1e-9 * seconds);
  }
}

TEST(AssistantPlan, GrowsWithTheTime) {
  index before = 0;
  for (const double seconds : {10.0, 300.0, 3600.0, 36000.0}) {
    const AssistantPlan plan = plan_assistant(wish(seconds, index{1} << 32, 5e11));
    EXPECT_GE(plan.parameters, before);
    EXPECT_EQ(plan.n_embd % plan.n_head, 0);
    before = plan.parameters;
  }
  EXPECT_GT(before, 10'000'000);
}

TEST(AssistantPlan, StaysSmallForASmallText) {
  const AssistantPlan plan = plan_assistant(wish(36000, 131'492, 5e11));
  EXPECT_EQ(plan.n_embd, 64);
  EXPECT_EQ(plan.vocab_size, 1024);
}

TEST(AssistantPlan, RefusesWhatIsTooSmall) {
  EXPECT_THROW(plan_assistant(wish(1, 1 << 20, 1e11)), InputError);
  EXPECT_THROW(plan_assistant(wish(300, 100, 1e11)), InputError);
}

TEST(AssistantPlan, ReadsTimes) {
  EXPECT_EQ(seconds_of("90s"), 90);
  EXPECT_EQ(seconds_of("5m"), 300);
  EXPECT_EQ(seconds_of("1.5h"), 5400);
  for (const char* text : {"", "h", "3", "3d", "-1h", "3hh", "0s", "nanh"}) {
    EXPECT_THROW(seconds_of(text), InputError) << text;
  }
}

TEST(AssistantPlan, CountsSteps) {
  EXPECT_EQ(steps_within(10, 0.5), 20);
  EXPECT_EQ(steps_within(0.1, 0.5), 1);
}

}  // namespace
}  // namespace dikkat
