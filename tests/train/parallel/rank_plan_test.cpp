#include "train/parallel/rank_plan.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

// GPT-2 124M: 498 MB of weights, as many of gradients, twice as many of AdamW's state.
const SharedRun kGpt2{.weights = 498e6, .gradients = 498e6, .state = 996e6, .lanes = 8, .step_seconds = 80, .tokens = 524'288};

TEST(RankPlan, SharesStateAndCountsWhatTravels) {
  const RankPlan one = plan_ranks(kGpt2, 1, 10), two = plan_ranks(kGpt2, 2, 10), eight = plan_ranks(kGpt2, 8, 10);
  EXPECT_NEAR(one.memory, 498e6 * 7, 1) << "with four slabs of gradients for eight lanes";
  EXPECT_NEAR(two.memory, 498e6 * 5, 1);
  EXPECT_NEAR(eight.memory, 498e6 * 2.25, 1);
  EXPECT_EQ(one.sent, 0);
  EXPECT_NEAR(two.sent, 498e6, 1);
  EXPECT_NEAR(plan_ranks(kGpt2, 4, 10).sent, 747e6, 1);
  EXPECT_NEAR(eight.sent, 871.5e6, 1);
}

TEST(RankPlan, AddsTheExchangeToAShareOfTheStep) {
  SharedRun run = kGpt2;
  run.late = 1;
  const RankPlan one = plan_ranks(run, 1, 10), eight = plan_ranks(run, 8, 10), slow = plan_ranks(run, 8, 1);
  EXPECT_DOUBLE_EQ(one.efficiency, 1);
  EXPECT_DOUBLE_EQ(one.tokens_per_second, 524'288 / 80.0);
  EXPECT_NEAR(eight.exchange_seconds, 0.697, 0.001);
  EXPECT_NEAR(eight.step_seconds, 10.697, 0.001);
  EXPECT_NEAR(eight.efficiency, 10 / 10.697, 1e-4);
  EXPECT_NEAR(slow.exchange_seconds, 6.97, 0.01);
  EXPECT_NEAR(plan_ranks(run, 8, 10, 4).step_seconds, 2.5 + 0.697, 0.001) << "of machines four times as fast";
}

TEST(RankPlan, HidesGradientsBesideTheLastBackwardPass) {
  SharedRun run = kGpt2;
  run.late = 0.31;
  run.passes = 64;  // 8 a rank, of 1.25 s
  const RankPlan fast = plan_ranks(run, 8, 10), slow = plan_ranks(run, 8, 1);
  EXPECT_NEAR(fast.hidden_seconds, 0.697 / 2 * 0.69, 0.001) << "all that is early";
  EXPECT_NEAR(fast.step_seconds, 10.697 - fast.hidden_seconds, 0.001);
  EXPECT_NEAR(slow.hidden_seconds, 1.25 * 2 / 3, 0.001) << "as long as the backward pass takes";
}

}  // namespace
}  // namespace dikkat
