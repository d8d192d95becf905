#include "train/run/step_clock.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(20);

TEST(StepClock, ExtrapolatesPassesThatHadNoTime) {
  Ranks ranks;
  StepClock clock(ranks);
  clock.limit_passes(0.01);
  clock.begin_step(4);
  EXPECT_TRUE(clock.has_time());
  std::this_thread::sleep_for(kMoment);
  clock.end_pass(1e9);
  EXPECT_FALSE(clock.has_time());
  EXPECT_GE(clock.end_passes({}), 0.02);
  StepReport report{.optimizer_seconds = 0.001};
  clock.end_step(report);
  EXPECT_GE(report.seconds, 4 * (0.02 - 0.001) + 0.001) << "four passes, only one of which was made, and one update";
}

TEST(StepClock, MeasuresTheRateAndWaitsOfEachStep) {
  Ranks ranks;
  StepClock clock(ranks);
  clock.measure_reference([] { return 1e12; });
  for (int step = 0; step < 2; ++step) {
    clock.begin_step(1);
    std::this_thread::sleep_for(kMoment);
    clock.end_pass(1e9);
    EXPECT_TRUE(clock.has_time());
    EXPECT_LT(clock.end_passes({.exchanging = 0.5, .waiting = 0.25}), 0) << "the time that it computed, without the wait";
    StepReport report;
    clock.end_step(report);
    EXPECT_DOUBLE_EQ(report.mfu, 1e9 / report.seconds / 1e12);
    EXPECT_EQ(report.exchange_seconds, 0.5);
    EXPECT_EQ(report.waited_seconds, 0.25);
  }
}

}  // namespace
}  // namespace dikkat
