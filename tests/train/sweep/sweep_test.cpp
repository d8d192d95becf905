#include "train/sweep/sweep.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Runs that cost nothing: they have a loss for each combination, seed and number of steps.
struct FakeRuns {
  std::function<double(const Leg&)> loss;
  index most = 1000;  // legs until it is asked to stop
  std::function<double(const Leg&)> accuracy = [](const Leg&) { return -1.0; };
  std::vector<Leg> trained = {};

  Halving operator()(const SweepPlan& plan, std::vector<LegResult>& ended) {
    return walk(plan, ended, [&](const Leg& leg) -> std::optional<LegResult> {
      if (static_cast<index>(trained.size()) == most) {
        return std::nullopt;
      }
      trained.push_back(leg);
      const double value = loss(leg);
      return LegResult{.leg = leg,
                       .step = leg.steps,
                       .loss = value,
                       .standard_error = 0.5,
                       .accuracy = accuracy(leg),
                       .seconds = static_cast<double>(leg.steps),
                       .failure = value < 0 ? "step 3: the loss is NaN" : ""};
    });
  }
};

SweepPlan plan_of(index combinations, index steps, std::vector<index> seeds = {1}, index eta = 3) {
  return {.max_steps = std::vector<index>(static_cast<std::size_t>(combinations), steps), .seeds = std::move(seeds), .eta = eta};
}

/// Formats legs as combination, seed and steps, such as "c0s1 0-4".
std::string shown(const std::vector<Leg>& legs) {
  std::string text;
  for (const Leg& leg : legs) {
    text += (text.empty() ? "" : ", ") + ("c" + std::to_string(leg.combination) + "s" + std::to_string(leg.seed) + " " +
                                          std::to_string(leg.from) + "-" + std::to_string(leg.steps));
  }
  return text;
}

std::vector<index> order_of(const std::vector<Standing>& all) {
  std::vector<index> order;
  for (const Standing& s : all) {
    order.push_back(s.combination);
  }
  return order;
}

using Numbers = std::vector<index>;

TEST(Incomparable, AreResultsThatAreKnownToScoreOtherTokens) {
  const LegResult a{.leg = {.combination = 0}, .scored = "a"}, b{.leg = {.combination = 1}, .scored = "b"},
      unknown{.leg = {.combination = 2}};
  EXPECT_EQ(find_incomparable({}).first, nullptr);
  EXPECT_EQ(find_incomparable({a, unknown, a}).first, nullptr);
  const std::vector<LegResult> all = {unknown, a, a, b};
  EXPECT_EQ(find_incomparable(all), (std::pair(&all[1], &all[3])));
}

TEST(Rungs, ArePowersOfEtaThatTheCombinationsSuffice) {
  EXPECT_EQ(plan_of(2, 900).rungs(), Numbers{});
  EXPECT_EQ(plan_of(3, 900).rungs(), Numbers{300});
  EXPECT_EQ(plan_of(8, 900).rungs(), Numbers{300});
  EXPECT_EQ(plan_of(9, 900).rungs(), (Numbers{100, 300}));
  EXPECT_EQ(plan_of(9, 1000).rungs(), (Numbers{112, 334})) << "rounded up";
  EXPECT_EQ(plan_of(4, 100, {1}, 2).rungs(), (Numbers{25, 50}));
  EXPECT_EQ(plan_of(27, 900, {1}, 0).rungs(), Numbers{}) << "no halving";
}

TEST(Rungs, AreDifferentStepsBeforeTheLast) {
  EXPECT_EQ(plan_of(100, 4).rungs(), (Numbers{1, 2}));
  EXPECT_EQ(plan_of(100, 2).rungs(), Numbers{1});
  EXPECT_EQ(plan_of(100, 1).rungs(), Numbers{});
}

TEST(Walk, RunsAllSeedsOfAllCombinationsWithoutHalving) {
  FakeRuns runs{.loss = [](const Leg&) { return 1.0; }};
  std::vector<LegResult> ended;
  EXPECT_TRUE(runs(plan_of(2, 6, {5, 7}, 0), ended).complete);
  EXPECT_EQ(shown(runs.trained), "c0s5 0-6, c1s5 0-6, c0s7 0-6, c1s7 0-6");
}

TEST(Walk, StopsTheWorseAtEachRungAndGivesTheLastAllSeeds) {
  FakeRuns runs{.loss = [](const Leg& leg) { return leg.steps < 9 ? std::abs(static_cast<double>(leg.combination) - 6.2) : 1; }};
  std::vector<LegResult> ended;
  const Halving halving = runs(plan_of(9, 9, {1, 2}), ended);
  EXPECT_EQ(shown(runs.trained),
            "c0s1 0-1, c1s1 0-1, c2s1 0-1, c3s1 0-1, c4s1 0-1, c5s1 0-1, c6s1 0-1, c7s1 0-1, c8s1 0-1, "
            "c5s1 1-3, c6s1 1-3, c7s1 1-3, c6s1 3-9, c6s2 0-9");
  EXPECT_EQ(halving.stopped_at, (Numbers{1, 1, 1, 1, 1, 2, 0, 2, 1}));
}

TEST(Walk, PrefersTheEarlierOfEqualLosses) {
  FakeRuns runs{.loss = [](const Leg&) { return 2.0; }};
  std::vector<LegResult> ended;
  EXPECT_EQ(runs(plan_of(5, 9), ended).stopped_at, (Numbers{0, 0, 1, 1, 1})) << "two of five: a third, rounded up";
}

// Losses of preferences with different beta, for example, cannot be compared.
TEST(Walk, ComparesPreferencesByTheirAccuracy) {
  FakeRuns runs{.loss = [](const Leg& leg) { return static_cast<double>(leg.combination); },
                .accuracy = [](const Leg& leg) { return leg.combination < 4    ? 0.5
                                                        : leg.combination == 4 ? 0.9
                                                                               : 0.75; }};
  std::vector<LegResult> ended;
  EXPECT_EQ(runs(plan_of(6, 9, {1, 2}), ended).stopped_at, (Numbers{1, 1, 1, 1, 0, 0}));
  const auto all = standings(plan_of(6, 9, {1, 2}), ended);
  EXPECT_EQ(order_of(all), (Numbers{4, 5, 0, 1, 2, 3})) << "equal accuracies: by their losses";
  EXPECT_EQ(all[0].accuracy, 0.9);
  const Forecast left = forecast(plan_of(6, 9), {}, std::vector<double>(6, 1.0));
  EXPECT_EQ(left.runs, 6);
}

TEST(Walk, NeverContinuesARunThatFailedOrHasNoLoss) {
  FakeRuns runs{.loss = [](const Leg& leg) { return leg.combination == 0 ? kNan : leg.combination == 1 ? -1.0 : 5.0; }};
  std::vector<LegResult> ended;
  const Halving halving = runs(plan_of(3, 9, {1, 2}), ended);
  EXPECT_TRUE(halving.complete);
  EXPECT_EQ(shown(runs.trained), "c0s1 0-3, c1s1 0-3, c2s1 0-3, c2s1 3-9, c2s2 0-9");
  const auto all = standings(plan_of(3, 9, {1, 2}), ended);
  EXPECT_EQ(order_of(all), (Numbers{2, 0, 1}));
  EXPECT_EQ(all[1].state, Standing::State::failed);
  EXPECT_TRUE(names(all[1].failure, {"seed 1", "loss"}));
  EXPECT_TRUE(names(all[2].failure, {"seed 1", "step 3: the loss is NaN"}));
  EXPECT_TRUE(has_winner(all));
}

TEST(Walk, EndsWhenAllFail) {
  FakeRuns runs{.loss = [](const Leg&) { return -1.0; }};
  std::vector<LegResult> ended;
  EXPECT_TRUE(runs(plan_of(9, 9), ended).complete);
  EXPECT_EQ(runs.trained.size(), 9U);
  EXPECT_FALSE(has_winner(standings(plan_of(9, 9), ended)));
}

TEST(Walk, ContinuesFromAnyStop) {
  const auto loss = [](const Leg& leg) { return std::sin(static_cast<double>(leg.combination * 7 + leg.steps + leg.seed)) + 2; };
  const SweepPlan plan = plan_of(9, 30, {3, 1});
  FakeRuns whole{.loss = loss};
  std::vector<LegResult> expected;
  whole(plan, expected);
  for (index stop = 0; stop < static_cast<index>(whole.trained.size()); ++stop) {
    std::vector<LegResult> ended;
    FakeRuns first{.loss = loss, .most = stop};
    EXPECT_FALSE(first(plan, ended).complete);
    FakeRuns second{.loss = loss};
    EXPECT_TRUE(second(plan, ended).complete);
    first.trained.insert(first.trained.end(), second.trained.begin(), second.trained.end());
    EXPECT_EQ(shown(first.trained), shown(whole.trained)) << "nothing is repeated after " << stop;
  }
}

TEST(Forecast, AssumesThatTheSlowestAreTheBest) {
  const SweepPlan plan = plan_of(3, 9, {1, 2});
  const std::vector<double> seconds = {9, 90, 18};
  const Forecast all = forecast(plan, {}, seconds);
  EXPECT_EQ(all.legs, 5);
  EXPECT_EQ(all.runs, 4);
  EXPECT_NEAR(all.seconds, (9 + 90 + 18) / 3.0 + 60 + 90, 1e-9);
  FakeRuns runs{.loss = [](const Leg& leg) { return leg.combination == 0 ? 1.0 : 2.0; }, .most = 3};
  std::vector<LegResult> ended;
  runs(plan, ended);
  const Forecast left = forecast(plan, ended, seconds);
  EXPECT_EQ(left.legs, 2);
  EXPECT_NEAR(left.seconds, 6 + 9, 1e-9) << "the first has won the rung";
}

TEST(Standings, AverageSeedsWithTheStandardErrorOfTheMean) {
  FakeRuns runs{.loss = [](const Leg& leg) { return leg.combination == 0 ? static_cast<double>(leg.seed) : 2.5; }};
  std::vector<LegResult> ended;
  const SweepPlan plan = plan_of(2, 4, {1, 2, 6}, 0);
  runs(plan, ended);
  const auto all = standings(plan, ended);
  EXPECT_EQ(order_of(all), (Numbers{1, 0}));
  EXPECT_DOUBLE_EQ(all[1].loss, 3);
  EXPECT_DOUBLE_EQ(all[1].standard_error, std::sqrt((4 + 1 + 9) / 2.0 / 3));
  EXPECT_EQ(all[1].seeds, (Numbers{1, 2, 6}));
  EXPECT_EQ(all[1].seconds, 12) << "for all seeds";
  EXPECT_EQ(all[1].state, Standing::State::finished);
}

TEST(Standings, TakeTheErrorOfTheEvaluationForOneSeed) {
  FakeRuns runs{.loss = [](const Leg&) { return 1.0; }};
  std::vector<LegResult> ended;
  runs(plan_of(1, 4), ended);
  EXPECT_EQ(standings(plan_of(1, 4), ended)[0].standard_error, 0.5);
}

TEST(Standings, PutThoseFirstThatCameFurther) {
  FakeRuns runs{.loss = [](const Leg& leg) { return leg.steps < 9 ? 1.0 + static_cast<double>(leg.combination) : 7.0; }};
  std::vector<LegResult> ended;
  const SweepPlan plan = plan_of(3, 9);
  runs(plan, ended);
  const auto all = standings(plan, ended);
  EXPECT_EQ(order_of(all), (Numbers{0, 1, 2})) << "losses after 3 steps and after 9 are not compared";
  EXPECT_EQ(all[1].state, Standing::State::stopped);
  EXPECT_EQ(all[1].rung, 1);
  EXPECT_EQ(all[1].step, 3);
}

TEST(Standings, ReportTheResultsOfAStoppedSweep) {
  FakeRuns runs{.loss = [](const Leg&) { return 1.0; }, .most = 1};
  std::vector<LegResult> ended;
  const SweepPlan plan = plan_of(3, 9);
  EXPECT_FALSE(has_winner(standings(plan, ended)));
  runs(plan, ended);
  const auto all = standings(plan, ended);
  EXPECT_EQ(all[0].state, Standing::State::unfinished);
  EXPECT_EQ(all[1].state, Standing::State::waiting);
  EXPECT_TRUE(has_winner(all)) << "so far";
}

}  // namespace
}  // namespace dikkat
