#include "train/sample/scored_token.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/numbers.h"

namespace dikkat {
namespace {

TEST(ScoredToken, HasTheLogarithmsOfASoftmax) {
  const std::vector<float> logits = testing::numbers(1001, 3, -20, 20);
  long double total = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<long double>(logit));
  }
  const auto expected = [&](Token id) {
    return static_cast<double>(std::log(std::exp(static_cast<long double>(logits[static_cast<std::size_t>(id)])) / total));
  };
  for (const Token token : {0, 17, 1000}) {
    const ScoredToken scored = score_token(logits, token, 1001, 5);
    EXPECT_EQ(scored.token, token);
    EXPECT_NEAR(scored.log_probability.value(), expected(token), 1e-6);
    ASSERT_EQ(scored.likeliest.size(), 5U);
    double before = 0;
    for (const auto& [id, log_probability] : scored.likeliest) {
      EXPECT_NEAR(log_probability, expected(id), 1e-6);
      EXPECT_LE(log_probability, before);
      before = log_probability;
      EXPECT_EQ(score_token(logits, id, 1001, 0).log_probability, log_probability) << "the bits of the token itself";
    }
  }
}

TEST(ScoredToken, LeavesOutIdsThatCannotBeUsed) {
  const std::vector<float> logits = {1, 2, 9, 3e38F};
  const ScoredToken scored = score_token(logits, 0, 3, 20);
  EXPECT_EQ(scored.likeliest.size(), 3U);
  EXPECT_EQ(scored.likeliest[0].first, 2);
  EXPECT_TRUE(std::isfinite(scored.log_probability.value())) << "nothing overflows";
  EXPECT_TRUE(std::isnan(score_token(std::vector<float>{1, std::nanf(""), 2}, 0, 3, 1).log_probability.value()));
}

}  // namespace
}  // namespace dikkat
