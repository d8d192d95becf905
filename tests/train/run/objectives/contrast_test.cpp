#include "train/run/objectives/contrast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "tests/golden/json_fixture.h"

// The loss of vectors, and the search, as functions of features. tests/golden/make_contrast_fixture.py has PyTorch's numbers.
namespace dikkat {
namespace {

struct GoldenPairs {
  PairTexts texts;
  std::vector<float> pooled;
  nlohmann::json results;
};

GoldenPairs golden_pairs() {
  const nlohmann::json all = testing::json_fixture("contrast.json");
  GoldenPairs pairs{.texts = {.places = all["places"].get<std::vector<index>>(), .ids = all["ids"].get<std::vector<std::int64_t>>()},
                    .pooled = {},
                    .results = all["results"]};
  for (const nlohmann::json& number : all["pooled"]) {
    pairs.pooled.push_back(static_cast<float>(number.get<double>()));
  }
  return pairs;
}

TEST(Contrast, HasTheLossAndTheGradientOfPyTorch) {
  const GoldenPairs pairs = golden_pairs();
  for (const auto& [temperature, expected] : pairs.results.items()) {
    std::vector<float> slopes(pairs.pooled.size());
    const PairLosses found = contrast(pairs.texts, pairs.pooled, std::stod(temperature), slopes);
    ASSERT_EQ(found.losses.size(), expected["losses"].size());
    for (std::size_t i = 0; i < found.losses.size(); ++i) {
      EXPECT_NEAR(found.losses[i], expected["losses"][i].get<double>(), 1e-6) << temperature << ' ' << i;
    }
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      EXPECT_NEAR(slopes[i], expected["gradient"][i].get<double>(), 1e-6) << temperature << ' ' << i;
    }
  }
}

TEST(Contrast, HasTheSameBitsOnAnyThreads) {
  constexpr index kPairs = 96, kWidth = 48;
  PairTexts texts;
  std::vector<float> pooled;
  for (index i = 0; i < 2 * kPairs; ++i) {
    texts.places.push_back(i % 2);
    texts.ids.push_back(i);
    for (index j = 0; j < kWidth; ++j) {
      pooled.push_back(static_cast<float>(std::sin(static_cast<double>(7 * i + i * j))));
    }
  }
  const auto all = [&](int threads) {
    const WithThreads with(threads, Work{0});
    std::vector<float> slopes(pooled.size());
    const PairLosses found = contrast(texts, pooled, 0.05, slopes);
    const Retrieval search = retrieve(texts, pooled);
    return std::tuple(found.losses, slopes, search.mrr);
  };
  EXPECT_EQ(all(1), all(3));
}

/// Texts whose vectors lie at these angles, in degrees.
std::vector<float> at_angles(const std::vector<double>& degrees) {
  std::vector<float> pooled;
  for (const double angle : degrees) {
    pooled.push_back(static_cast<float>(3 * std::cos(angle * M_PI / 180)));
    pooled.push_back(static_cast<float>(3 * std::sin(angle * M_PI / 180)));
  }
  return pooled;
}

TEST(Contrast, IsNothingWithoutOtherTexts) {
  const PairTexts one{.places = {0, 1, 0, 1}, .ids = {1, 2, 1, 2}};  // the same pair twice
  std::vector<float> slopes(8, 7);
  const PairLosses found = contrast(one, at_angles({0, 40, 0, 40}), 0.05, slopes);
  EXPECT_EQ(found.losses, (std::vector<double>{0, 0}));
  EXPECT_EQ(slopes, std::vector<float>(8, 0));
  const PairTexts with_negative{.places = {0, 1, 2}, .ids = {1, 2, 3}};
  const PairLosses other = contrast(with_negative, at_angles({0, 40, 80}), 1, {});
  EXPECT_NEAR(other.losses[0], std::log1p(std::exp(std::cos(80 * M_PI / 180) - std::cos(40 * M_PI / 180))), 1e-6);
  EXPECT_TRUE(other.right[0]);
}

TEST(Contrast, OfAVectorOfZerosIsFinite) {
  std::vector<float> pooled = at_angles({0, 40, 10, 90}), slopes(8);
  pooled[0] = pooled[1] = 0;
  const PairLosses found = contrast({.places = {0, 1, 0, 1}, .ids = {1, 2, 3, 4}}, pooled, 0.05, slopes);
  EXPECT_NEAR(found.losses[0], std::log(2), 1e-9);
  EXPECT_TRUE(std::ranges::all_of(slopes, [](float x) { return std::isfinite(x); }));
}

TEST(Retrieval, RanksEachPositiveAmongAllOthers) {
  // The anchors at 0, 100 and 200 degrees; the second one's positive is further away than that of the first.
  const PairTexts texts{.places = {0, 1, 0, 1, 0, 1, 2}, .ids = {1, 2, 3, 4, 5, 6, 7}};
  const Retrieval found = retrieve(texts, at_angles({0, 60, 100, 170, 200, 210, 205}));
  EXPECT_EQ(found.candidates, 4);
  EXPECT_NEAR(found.recall_1, 1.0 / 3, 1e-12) << "the first only: 60 and 0 are before 170; 205 before 210";
  EXPECT_EQ(found.recall_10, 1);
  EXPECT_NEAR(found.mrr, (1 + 1.0 / 2 + 1.0 / 2) / 3, 1e-12);
}

TEST(Retrieval, CountsEqualTextsOnceAndTiesAgainstTheModel) {
  const PairTexts repeated{.places = {0, 1, 0, 1, 0, 1}, .ids = {1, 2, 3, 4, 5, 4}};
  const Retrieval once = retrieve(repeated, at_angles({0, 20, 200, 10, 190, 10}));
  EXPECT_EQ(once.candidates, 2);
  EXPECT_NEAR(once.mrr, (0.5 + 1 + 0.5) / 3, 1e-12);
  const Retrieval collapsed = retrieve({.places = {0, 1, 0, 1, 0, 1}, .ids = {1, 2, 3, 4, 5, 6}}, at_angles({5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(collapsed.recall_1, 0);
  EXPECT_NEAR(collapsed.mrr, 1.0 / 3, 1e-12);
  std::vector<float> broken = at_angles({0, 1, 180, 181});
  broken[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(retrieve({.places = {0, 1, 0, 1}, .ids = {1, 2, 3, 4}}, broken).recall_1, 0.5);
  EXPECT_EQ(retrieve({.places = {0, 1, 0, 1}, .ids = {1, 2, 1, 3}}, at_angles({0, 20, 0, 10})).recall_1, 1) << "both are right";
}

TEST(PairTexts, TellTextsByTheirTokens) {
  Batch batch;
  batch.reshape(1, {.cols = 8, .packed = true, .texts = 4});
  batch.inputs = {5, 6, 5, 6, 6, 5, 5, 0};
  batch.texts = {
      {.begin = 0, .length = 2}, {.begin = 2, .length = 2, .place = 1}, {.begin = 4, .length = 2}, {.begin = 6, .length = 1, .place = 1}};
  PairTexts texts;
  texts.add(batch);
  EXPECT_EQ(texts.pairs(), 2);
  EXPECT_EQ(texts.ids[0], texts.ids[1]);
  EXPECT_NE(texts.ids[0], texts.ids[2]) << "another order";
  EXPECT_NE(texts.ids[0], texts.ids[3]);
}

}  // namespace
}  // namespace dikkat
