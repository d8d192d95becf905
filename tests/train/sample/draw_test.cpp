#include "train/sample/draw.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

const std::vector<float> kLogits = {0.5F, 2.0F, -1.0F, 2.0F, 1.0F};

/// How often each id is drawn for uniform numbers spread evenly.
std::vector<double> shares(double temperature, index top_k) {
  constexpr int kDraws = 200000;
  std::vector<double> counts(kLogits.size());
  for (int i = 0; i < kDraws; ++i) {
    counts[static_cast<std::size_t>(draw_token(kLogits, temperature, top_k, (i + 0.5) / kDraws))] += 1.0 / kDraws;
  }
  return counts;
}

TEST(Draw, follows_the_softmax_at_a_temperature) {
  for (const double temperature : {0.3, 1.0, 2.0}) {
    double total = 0;
    for (const float logit : kLogits) {
      total += std::exp(static_cast<double>(logit) / temperature);
    }
    const auto drawn = shares(temperature, 0);
    for (std::size_t id = 0; id < kLogits.size(); ++id) {
      EXPECT_NEAR(drawn[id], std::exp(static_cast<double>(kLogits[id]) / temperature) / total, 1e-5) << id;
    }
  }
}

TEST(Draw, at_temperature_zero_takes_the_likeliest_and_the_first_of_equals) { EXPECT_EQ(draw_token(kLogits, 0, 0, 0.99), 1); }

TEST(Draw, top_k_leaves_only_the_likeliest) {
  const auto one = shares(1, 1);
  EXPECT_NEAR(one[1], 1.0, 1e-9) << "of equals the lower id counts as likelier";
  const auto three = shares(1, 3);
  EXPECT_EQ(three[0], 0);
  EXPECT_EQ(three[2], 0);
  EXPECT_GT(three[4], 0.1);
  EXPECT_EQ(shares(1, 5), shares(1, 0));
  EXPECT_EQ(shares(1, 100), shares(1, 0));
}

TEST(Draw, takes_numbers_at_the_ends) {
  EXPECT_EQ(draw_token(kLogits, 1, 0, 0.0), 0);
  EXPECT_EQ(draw_token(kLogits, 1, 0, std::nextafter(1.0, 0.0)), 4);
  const std::vector<float> far = {-1e30F, 1e30F, -1e30F};
  EXPECT_EQ(draw_token(far, 0.01, 0, 0.5), 1);
}

}  // namespace
}  // namespace dikkat
