#include "optim/update_schedule.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace dikkat::update_schedule_test {
namespace {

using Kind = Schedule::Kind;
using WeightDecay = UpdateSchedule::WeightDecay;

UpdateSchedule wsd() {
  return {.rate = {.kind = Kind::wsd, .learning_rate = 1e-2, .min_lr = 1e-3, .warmup_steps = 10, .decay_steps = 100, .decay_share = 0.4}};
}

TEST(WeightDecaySchedule, IsOneByDefault) {
  for (const index step : {0, 5, 50, 99, 100, 1000}) {
    EXPECT_EQ(wsd().weight_decay_factor(step), 1) << step;
  }
}

TEST(WeightDecaySchedule, FollowsTheRate) {
  UpdateSchedule schedule = wsd();
  schedule.weight_decay = WeightDecay::with_rate;
  EXPECT_DOUBLE_EQ(schedule.weight_decay_factor(0), 1.0 / 11);
  EXPECT_EQ(schedule.weight_decay_factor(40), 1);
  EXPECT_DOUBLE_EQ(schedule.weight_decay_factor(80), 0.55);
  EXPECT_DOUBLE_EQ(schedule.weight_decay_factor(100), 0.1);
}

TEST(WeightDecaySchedule, FallsToNothing) {
  for (const WeightDecay kind : {WeightDecay::linear, WeightDecay::cosine}) {
    UpdateSchedule schedule = wsd();
    schedule.weight_decay = kind;
    EXPECT_EQ(schedule.weight_decay_factor(0), 1);
    EXPECT_DOUBLE_EQ(schedule.weight_decay_factor(25), kind == WeightDecay::linear ? 0.75 : 0.5 * (1 + std::cos(std::numbers::pi * 0.25)));
    EXPECT_DOUBLE_EQ(schedule.weight_decay_factor(50), 0.5);
    EXPECT_GT(schedule.weight_decay_factor(99), 0);
    EXPECT_EQ(schedule.weight_decay_factor(100), 0);
    EXPECT_EQ(schedule.weight_decay_factor(1000), 0);
  }
}

TEST(MomentumSchedule, IsConstantIfItHasOneValue) {
  UpdateSchedule schedule = wsd();
  schedule.momentum = {.start = 0.95, .peak = 0.95, .end = 0.95, .warmup_steps = 300};
  for (const index step : {0, 1, 7, 99, 150, 299, 300, 1000}) {
    EXPECT_EQ(schedule.momentum_at(step), 0.95) << step;
  }
}

TEST(MomentumSchedule, RisesAndFallsWithTheRate) {
  UpdateSchedule schedule = wsd();
  schedule.momentum = {.start = 0.85, .peak = 0.97, .end = 0.9, .warmup_steps = 30};
  EXPECT_EQ(schedule.momentum_at(0), 0.85);
  EXPECT_DOUBLE_EQ(schedule.momentum_at(10), 0.85 + 0.12 / 3);
  EXPECT_EQ(schedule.momentum_at(30), 0.97);
  EXPECT_EQ(schedule.momentum_at(60), 0.97) << "the last step at the peak of the rate";
  EXPECT_DOUBLE_EQ(schedule.momentum_at(80), 0.935);
  EXPECT_DOUBLE_EQ(schedule.momentum_at(100), 0.9);
  EXPECT_DOUBLE_EQ(schedule.momentum_at(1000), 0.9);
  schedule.rate.kind = Kind::constant;
  EXPECT_EQ(schedule.momentum_at(100), 0.97) << "a rate that does not fall";
}

TEST(UpdateScheduleAt, HasAllOfThem) {
  UpdateSchedule schedule = wsd();
  schedule.weight_decay = WeightDecay::linear;
  schedule.momentum = {.start = 0.5, .peak = 0.9, .end = 0.9, .warmup_steps = 80};
  const Update update = schedule.at(40);
  EXPECT_EQ(update.learning_rate, 1e-2);
  EXPECT_DOUBLE_EQ(update.weight_decay_factor, 0.6);
  EXPECT_DOUBLE_EQ(*update.momentum, 0.7);
  EXPECT_EQ(update.gradient_scale, 1);
}

}  // namespace
}  // namespace dikkat::update_schedule_test
