#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat::schedule_test {
namespace {

using testing::names;

using Kind = Schedule::Kind;

constexpr Schedule schedule_of(Kind kind) {
  return {.kind = kind, .learning_rate = 1e-2, .min_lr = 2e-3, .warmup_steps = 10, .decay_steps = 110};
}

TEST(ScheduleWarmUp, RisesInALineInEverySchedule) {
  for (const Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd}) {
    const Schedule schedule = schedule_of(kind);
    EXPECT_DOUBLE_EQ(schedule(0), 1e-2 / 11);  // not 0: the first step learns too
    EXPECT_DOUBLE_EQ(schedule(4), 1e-2 * 5 / 11);
    EXPECT_DOUBLE_EQ(schedule(9), 1e-2 * 10 / 11);
    EXPECT_DOUBLE_EQ(schedule(10), 1e-2);
  }
}

TEST(ScheduleWarmUp, MayBeAbsent) {
  for (const Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd}) {
    Schedule schedule = schedule_of(kind);
    schedule.warmup_steps = 0;
    EXPECT_DOUBLE_EQ(schedule(0), 1e-2);
  }
}

TEST(ScheduleWarmUp, MayBeLongerThanTheRun) {
  for (const Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd}) {
    Schedule schedule = schedule_of(kind);
    schedule.warmup_steps = 500;
    for (const index step : {0, 109, 110, 111, 499}) {
      EXPECT_DOUBLE_EQ(schedule(step), 1e-2 * static_cast<double>(step + 1) / 501) << step;
    }
    EXPECT_DOUBLE_EQ(schedule(500), kind == Kind::constant ? 1e-2 : 2e-3);
  }
}

TEST(ScheduleWarmUp, MayEndWithTheDecay) {
  for (const Kind kind : {Kind::linear, Kind::cosine, Kind::wsd}) {
    Schedule schedule = schedule_of(kind);
    schedule.warmup_steps = schedule.decay_steps;
    EXPECT_DOUBLE_EQ(schedule(109), 1e-2 * 110 / 111);
    EXPECT_DOUBLE_EQ(schedule(110), 2e-3);
  }
}

TEST(ScheduleDecay, IsHalfACosine) {
  const Schedule schedule = schedule_of(Kind::cosine);
  for (const index done : {0, 1, 25, 50, 99}) {
    const double share = 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(done) / 100));
    EXPECT_DOUBLE_EQ(schedule(10 + done), 2e-3 + share * 8e-3) << done;
  }
  EXPECT_DOUBLE_EQ(schedule(60), 6e-3);  // half way
}

TEST(ScheduleDecay, IsALine) {
  const Schedule schedule = schedule_of(Kind::linear);
  EXPECT_DOUBLE_EQ(schedule(35), 1e-2 - 0.25 * 8e-3);
  EXPECT_DOUBLE_EQ(schedule(60), 6e-3);
  EXPECT_DOUBLE_EQ(schedule(109), 2e-3 + 0.01 * 8e-3);
}

TEST(ScheduleDecay, NeverFallsBelowTheLowest) {
  for (const Kind kind : {Kind::linear, Kind::cosine, Kind::wsd}) {
    const Schedule schedule = schedule_of(kind);
    for (index step = 11; step < 130; ++step) {
      EXPECT_LE(schedule(step), schedule(step - 1)) << step;
      EXPECT_GE(schedule(step), 2e-3) << step;
    }
    EXPECT_EQ(schedule(110), 2e-3);
    EXPECT_EQ(schedule(1'000'000), 2e-3);
  }
}

TEST(ScheduleDecay, IsAbsentFromAConstantRate) {
  const Schedule schedule = schedule_of(Kind::constant);
  for (const index step : {10, 60, 110, 1'000'000}) {
    EXPECT_EQ(schedule(step), 1e-2) << step;
  }
}

constexpr Schedule wsd(double share, Schedule::DecayForm form = Schedule::DecayForm::linear) {
  Schedule schedule = schedule_of(Kind::wsd);
  schedule.decay_share = share;
  schedule.decay_form = form;
  return schedule;
}

TEST(ScheduleWsd, IsStableAndThenALine) {
  const Schedule schedule = wsd(0.4);  // the last 44 of 110
  EXPECT_DOUBLE_EQ(schedule(4), 1e-2 * 5 / 11);
  for (const index step : {10, 11, 50, 65, 66}) {
    EXPECT_EQ(schedule(step), 1e-2) << step;
  }
  EXPECT_EQ(schedule.decay_begin(), 66);
  EXPECT_DOUBLE_EQ(schedule(77), 1e-2 - 0.25 * 8e-3);
  EXPECT_DOUBLE_EQ(schedule(88), 6e-3);
  EXPECT_DOUBLE_EQ(schedule(109), 2e-3 + 8e-3 / 44);
  EXPECT_EQ(schedule(110), 2e-3);
  EXPECT_EQ(schedule(1'000'000), 2e-3);
}

TEST(ScheduleWsd, FallsFastAtFirstAsOneMinusSqrt) {
  const Schedule schedule = wsd(0.4, Schedule::DecayForm::sqrt);
  EXPECT_EQ(schedule(66), 1e-2);
  EXPECT_DOUBLE_EQ(schedule(77), 6e-3) << "half of it after a quarter of the steps";
  EXPECT_DOUBLE_EQ(schedule(88), 2e-3 + (1 - std::sqrt(0.5)) * 8e-3);
  EXPECT_EQ(schedule(110), 2e-3);
}

TEST(ScheduleWsd, OfTheWholeIsTheLinearSchedule) {
  const Schedule schedule = wsd(1), linear = schedule_of(Kind::linear);
  for (index step = 0; step < 120; ++step) {
    EXPECT_EQ(schedule(step), linear(step)) << step;
  }
}

TEST(ScheduleWsd, WaitsForTheWarmUp) {
  Schedule schedule = wsd(0.9);
  schedule.warmup_steps = 50;
  EXPECT_EQ(schedule.decay_begin(), 50);
  EXPECT_EQ(schedule(50), 1e-2);
  EXPECT_DOUBLE_EQ(schedule(80), 6e-3);
}

TEST(ScheduleDecay, ReportsHowMuchOfItIsOver) {
  EXPECT_EQ(schedule_of(Kind::cosine).decayed(10), 0);
  EXPECT_EQ(schedule_of(Kind::cosine).decayed(60), 0.5);
  EXPECT_EQ(wsd(0.4).decayed(66), 0);
  EXPECT_EQ(wsd(0.4).decayed(77), 0.25);
  EXPECT_EQ(wsd(0.4).decayed(110), 1);
  for (const Kind kind : {Kind::constant, Kind::inverse_sqrt}) {
    EXPECT_EQ(schedule_of(kind).decayed(109), 0);
    EXPECT_EQ(schedule_of(kind).decayed(500), 0);
  }
}

TEST(ScheduleInverseSqrt, IsThePapersRate) {
  constexpr double kWidth = 512;
  constexpr double kWarmup = 4000;
  const Schedule schedule{.kind = Kind::inverse_sqrt, .learning_rate = 1 / std::sqrt(kWidth * kWarmup), .warmup_steps = 4000};
  for (const index s : {1, 100, 3999, 4000, 4001, 100'000}) {  // the paper counts from 1
    const auto step_num = static_cast<double>(s);
    const double expected = std::pow(kWidth, -0.5) * std::min(std::pow(step_num, -0.5), step_num * std::pow(kWarmup, -1.5));
    EXPECT_NEAR(schedule(s - 1), expected, 1e-14 * expected) << s;
  }
}

TEST(ScheduleInverseSqrt, ReachesItsPeakWithTheWarmUpAndKnowsNoOtherBound) {
  Schedule schedule = schedule_of(Kind::inverse_sqrt);
  EXPECT_DOUBLE_EQ(schedule(0), 1e-3);
  EXPECT_DOUBLE_EQ(schedule(9), 1e-2);
  EXPECT_DOUBLE_EQ(schedule(39), 5e-3);
  EXPECT_DOUBLE_EQ(schedule(999), 1e-3) << "below min_lr, after decay_steps";
  schedule.warmup_steps = 1;
  EXPECT_DOUBLE_EQ(schedule(0), 1e-2);
  EXPECT_DOUBLE_EQ(schedule(3), 5e-3);
}

TEST(ScheduleInverseSqrt, NeedsAWarmUp) {
  Schedule schedule = schedule_of(Kind::inverse_sqrt);
  schedule.warmup_steps = 0;
  EXPECT_TRUE(names(testing::error_of([&] { schedule(0); }), {"schedule", "inverse_sqrt", "0", "warm-up", "1"}));
}

}  // namespace
}  // namespace dikkat::schedule_test
