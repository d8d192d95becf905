#include "train/sample/draw.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

const std::vector<float> kLogits = {0.5F, 2.0F, -1.0F, 2.0F, 1.0F};

/// How often each id is drawn for uniform numbers spread evenly.
std::vector<double> shares(const std::vector<float>& logits, const DrawOptions& options, int draws = 50'000) {
  Draw draw(static_cast<index>(logits.size()));
  std::vector<double> counts(logits.size());
  for (int i = 0; i < draws; ++i) {
    counts[static_cast<std::size_t>(draw(logits, options, (i + 0.5) / draws))] += 1.0 / draws;
  }
  return counts;
}

index one(const std::vector<float>& logits, const DrawOptions& options, double uniform) {
  return Draw(static_cast<index>(logits.size()))(logits, options, uniform);
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> p;
  for (const float logit : logits) {
    p.push_back(std::exp(static_cast<double>(logit) / temperature));
  }
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& share : p) {
    share /= total;
  }
  return p;
}

/// The expected shares, computed by sorting everything.
std::vector<double> expected(const std::vector<float>& logits, const DrawOptions& o) {
  const std::vector<double> p = softmax(logits, o.temperature);
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (o.top_k > 0 && static_cast<std::size_t>(o.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(o.top_k));
  }
  double all = 0;
  for (const std::size_t id : order) {
    all += p[id];
  }
  double sum = 0;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || sum < o.top_p * all)) {
    sum += p[order[count++]];
  }
  order.resize(count);
  std::vector<double> left(p.size());
  double total = 0;
  for (const std::size_t id : order) {
    if (p[id] >= o.min_p * p[order.front()]) {
      left[id] = p[id];
      total += p[id];
    }
  }
  for (double& share : left) {
    share /= total;
  }
  return left;
}

TEST(Draw, FollowsTheSoftmaxAtATemperature) {
  for (const double temperature : {0.3, 1.0, 2.0}) {
    const auto drawn = shares(kLogits, {.temperature = temperature});
    const auto wanted = softmax(kLogits, temperature);
    for (std::size_t id = 0; id < kLogits.size(); ++id) {
      EXPECT_NEAR(drawn[id], wanted[id], 4e-5) << id;
    }
  }
}

TEST(Draw, AtTemperatureZeroTakesTheMostLikelyAndTheFirstOfEquals) { EXPECT_EQ(one(kLogits, {.temperature = 0}, 0.99), 1); }

TEST(Draw, TopKKeepsOnlyTheMostLikely) {
  EXPECT_NEAR(shares(kLogits, {.top_k = 1})[1], 1.0, 1e-9) << "of equals the lower id counts as likelier";
  const auto three = shares(kLogits, {.top_k = 3});
  EXPECT_EQ(three[0], 0);
  EXPECT_EQ(three[2], 0);
  EXPECT_GT(three[4], 0.1);
  EXPECT_EQ(shares(kLogits, {.top_k = 5}), shares(kLogits, {}));
  EXPECT_EQ(shares(kLogits, {.top_k = 100}), shares(kLogits, {}));
}

TEST(Draw, TopPKeepsTheFewestThatHaveTheShare) {
  const std::vector<float> logits = {std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)};
  const auto count = [&](double top_p) {
    int left = 0;
    for (const double share : shares(logits, {.top_p = top_p}, 1000)) {
      left += share > 0;
    }
    return left;
  };
  EXPECT_EQ(count(1e-9), 1) << "the likeliest always stays";
  EXPECT_EQ(count(0.39), 1);
  EXPECT_EQ(count(0.41), 2);
  EXPECT_EQ(count(0.69), 2);
  EXPECT_EQ(count(0.71), 3);
  EXPECT_EQ(count(0.91), 4);
  EXPECT_NEAR(shares(logits, {.top_p = 0.6})[3], 3.0 / 7, 4e-5) << "the rest is drawn by its own shares";
}

TEST(Draw, MinPKeepsTokensThatAreNotFarBelowTheMostLikely) {
  const std::vector<float> logits = {std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)};
  EXPECT_EQ(shares(logits, {.min_p = 0.51})[2], 0);
  EXPECT_GT(shares(logits, {.min_p = 0.49})[2], 0);
  EXPECT_EQ(shares(logits, {.min_p = 0.49})[0], 0);
  EXPECT_NEAR(shares(logits, {.min_p = 0.999})[1], 1, 1e-9);
}

TEST(Draw, OptionsTogetherGiveTheResultOfSortingEverything) {
  const std::vector<float> logits = testing::numbers(300, 3, -4, 4);
  for (const index top_k : {0, 1, 10, 200}) {
    for (const double top_p : {0.05, 0.5, 0.9, 0.999, 1.0}) {
      for (const double min_p : {0.0, 0.01, 0.3}) {
        for (const double temperature : {0.5, 1.5}) {
          const DrawOptions options{.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p};
          constexpr int kDraws = 1000;
          const auto drawn = shares(logits, options, kDraws);
          const auto wanted = expected(logits, options);
          for (std::size_t id = 0; id < logits.size(); ++id) {
            ASSERT_NEAR(drawn[id], wanted[id], 1.01 / kDraws) << id << ": " << top_k << ' ' << top_p << ' ' << min_p;
          }
        }
      }
    }
  }
}

TEST(Draw, TakesNumbersAtTheEnds) {
  EXPECT_EQ(one(kLogits, {}, 0.0), 0);
  EXPECT_EQ(one(kLogits, {}, std::nextafter(1.0, 0.0)), 4);
  const std::vector<float> far = {-1e30F, 1e30F, -1e30F};
  for (const double temperature : {1e-300, 0.01, 1.0}) {
    EXPECT_EQ(one(far, {.temperature = temperature}, 0.5), 1);
  }
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (const double uniform : {0.0, 0.5, std::nextafter(1.0, 0.0)}) {
    EXPECT_EQ(one({kNever, 3.0F, kNever}, {}, uniform), 1);
    EXPECT_EQ(one({kNever, 3.0F, kNever}, {.top_k = 2, .top_p = 0.5, .min_p = 0.5}, uniform), 1);
  }
}

TEST(Draw, RefusesOptionsOutOfRangeAndThoseThatContradict) {
  const auto refusal = [](const DrawOptions& options) { return testing::error_of([&] { check(options); }); };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.temperature = 0.1, .top_k = 3, .top_p = 0.5, .min_p = 0.5}), "");
  EXPECT_EQ(refusal({.temperature = kHighestTemperature}), "");
  for (const double temperature : {-1.0, 1000.5, std::nan("")}) {
    EXPECT_TRUE(names(refusal({.temperature = temperature}), {"temperature", concat(temperature), "0", "1000"}));
  }
  EXPECT_TRUE(names(refusal({.top_k = -1}), {"top-k", "-1", "1", "0"}));
  for (const double top_p : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_TRUE(names(refusal({.top_p = top_p}), {"top-p", concat(top_p), "0", "1"}));
  }
  for (const double min_p : {1.0, -0.5, std::nan("")}) {
    EXPECT_TRUE(names(refusal({.min_p = min_p}), {"min-p", concat(min_p), "0", "1"}));
  }
  EXPECT_TRUE(names(refusal({.temperature = 0, .top_p = 0.9}), {"temperature 0", "top-p"}));
  EXPECT_TRUE(names(refusal({.temperature = 0, .top_k = 5}), {"temperature 0", "top-k"}));
  EXPECT_TRUE(names(refusal({.temperature = 0, .min_p = 0.1}), {"temperature 0", "min-p"}));
}

TEST(RepetitionPenalty, MakesTokensThatOccurLessLikely) {
  std::vector<float> logits = {2, -2, 1, 0};
  penalize(logits, std::vector<std::int32_t>{0, 1, 3}, 2);
  EXPECT_EQ(logits, (std::vector<float>{1, -4, 1, 0}));
}

TEST(IdCounts, CountsEachIdAndListsItOnce) {
  IdCounts counts(5);
  for (const std::int32_t id : {3, 1, 3, 5, 3}) {
    counts.add(id);
  }
  EXPECT_EQ(std::vector(counts.ids().begin(), counts.ids().end()), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(counts.of(3), 3);
  EXPECT_EQ(counts.of(1), 1);
  EXPECT_EQ(counts.of(0), 0);
}

TEST(CountPenalties, AreThoseOfTheProtocol) {
  // logit - (count > 0) presence - count frequency, computed for every id.
  const std::vector<float> logits = testing::numbers(40, 1, -6, 6);
  IdCounts counts(40);
  std::vector<int> times(40);
  for (const int id : {7, 8, 7, 39, 7, 0, 8}) {
    counts.add(id);
    ++times[static_cast<std::size_t>(id)];
  }
  for (const double presence : {0.0, 1.5, -2.0}) {
    for (const double frequency : {0.0, 0.25, -1.0}) {
      std::vector<float> found = logits;
      penalize_counts(found, counts, presence, frequency);
      for (std::size_t id = 0; id < 40; ++id) {
        const double expected = static_cast<double>(logits[id]) - (times[id] > 0 ? presence : 0) - times[id] * frequency;
        EXPECT_NEAR(found[id], expected, 2e-6) << id << ": " << presence << ' ' << frequency;
        EXPECT_TRUE(times[id] > 0 || found[id] == logits[id]) << "other ids keep their bits";
      }
    }
  }
}

TEST(LogitBias, IsAdded) {
  std::vector<float> logits = {1, 2, 3, 4};
  add_bias(logits, std::vector<LogitBias>{{3, -100}, {0, 0.5}, {0, 0.25}});
  EXPECT_EQ(logits, (std::vector<float>{1.75, 2, 3, -96}));
}

TEST(LogSumExp, ReportsLogitsThatAreNaN) {
  std::vector<float> logits = {1, 2, 3};
  EXPECT_NEAR(log_sum_exp(logits), std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)), 1e-6);
  for (float& logit : logits) {
    const float before = std::exchange(logit, std::nanf(""));
    EXPECT_TRUE(std::isnan(log_sum_exp(logits)));
    logit = before;
  }
}

TEST(LogProbability, IsThatOfThePlainSoftmax) {
  const std::vector<float> logits = testing::numbers(1003, 5, -6, 6);
  const auto p = softmax(logits, 1);
  for (const std::size_t id : {std::size_t{0}, std::size_t{17}, std::size_t{1002}}) {
    EXPECT_NEAR(log_probability(logits, static_cast<index>(id)), std::log(p[id]), 1e-6);
  }
  EXPECT_NEAR(log_probability(std::vector<float>{100, 0}, 0), 0, 1e-9);
}

TEST(LikeliestTokens, AreInOrder) {
  const float nothing = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {1, 5, nothing, 5, 2, 9};
  EXPECT_EQ(likeliest_tokens(logits, 5, 3), (std::vector<std::int32_t>{1, 3, 4})) << "of equal ones the lower first, and no padding";
  EXPECT_EQ(likeliest_tokens(logits, 5, 20), (std::vector<std::int32_t>{1, 3, 4, 0})) << "none that cannot occur";
  EXPECT_TRUE(likeliest_tokens(logits, 5, 0).empty());
}

}  // namespace
}  // namespace dikkat
