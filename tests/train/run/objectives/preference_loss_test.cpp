#include "train/run/objectives/preference_loss.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

PreferenceConfig with_method(PreferenceMethod method) {
  Config config;
  config.preference.method = method;
  resolve(config);
  return config.preference;
}

std::vector<Answer> three_pairs() {
  return {{.tokens = 3, .role = AnswerRole::chosen, .reference = -4.0}, {.tokens = 5, .role = AnswerRole::rejected, .reference = -6.5},
          {.tokens = 1, .role = AnswerRole::chosen, .reference = -0.5}, {.tokens = 2, .role = AnswerRole::rejected, .reference = -3.0},
          {.tokens = 7, .role = AnswerRole::chosen, .reference = -9.0}, {.tokens = 4, .role = AnswerRole::rejected, .reference = -2.0}};
}
std::vector<Answer> three_judgments() {
  std::vector<Answer> all = three_pairs();
  const AnswerRole roles[] = {AnswerRole::good, AnswerRole::bad, AnswerRole::good};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].role = i % 2 == 0 ? roles[i / 2] : AnswerRole::mismatched;
  }
  return all;
}
const std::vector<double> kLogProbabilities = {-3.5, -6.0, -1.25, -2.5, -10.0, -1.5};

PreferenceSums sums_of(const PreferenceConfig& config, const std::vector<Answer>& answers, const std::vector<double>& l) {
  std::vector<double> slopes(l.size());
  return preference_loss(config, answers, l, slopes);
}

/// Compares the derivatives with central differences.
void expect_slopes(const PreferenceConfig& config, const std::vector<Answer>& answers) {
  std::vector<double> slopes(answers.size());
  preference_loss(config, answers, kLogProbabilities, slopes);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (answers[i].role == AnswerRole::mismatched) {
      EXPECT_EQ(slopes[i], 0) << "z is a constant";
      continue;
    }
    std::vector<double> up = kLogProbabilities, down = kLogProbabilities;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = (sums_of(config, answers, up).loss - sums_of(config, answers, down).loss) / (2 * kStep);
    EXPECT_NEAR(slopes[i], slope, 1e-8) << name_of(config.method) << ", answer " << i;
  }
}

TEST(PreferenceLoss, DerivativesAreThoseOfTheLoss) {
  for (const PreferenceMethod method : {PreferenceMethod::dpo, PreferenceMethod::ipo, PreferenceMethod::orpo, PreferenceMethod::simpo}) {
    for (const double share : {0.0, 0.3}) {
      PreferenceConfig config = with_method(method);
      config.sft_share = share;
      config.label_smoothing = share / 2;
      expect_slopes(config, three_pairs());
    }
  }
  PreferenceConfig kto = with_method(PreferenceMethod::kto);
  kto.good_weight = 1.5;
  kto.bad_weight = 0.75;
  for (const double share : {0.0, 0.3}) {
    kto.sft_share = share;
    expect_slopes(kto, three_judgments());
  }
}

// The numbers are those of the formulas, computed by hand for the first pair.
TEST(PreferenceLoss, IsThatOfThePapers) {
  const std::vector<Answer> pair = {three_pairs()[0], three_pairs()[1]};
  const std::vector<double> l = {-3.5, -6.25};
  const auto loss = [&](PreferenceMethod method) { return sums_of(with_method(method), pair, l).loss; };
  const auto minus_log_sigmoid = [](double x) { return std::log(1 + std::exp(-x)); };
  EXPECT_NEAR(loss(PreferenceMethod::dpo), minus_log_sigmoid(0.1 * (0.5 - 0.25)), 1e-15);
  EXPECT_NEAR(loss(PreferenceMethod::ipo), std::pow(0.5 / 3 - 0.25 / 5 - 5, 2), 1e-13);
  EXPECT_NEAR(loss(PreferenceMethod::simpo), minus_log_sigmoid(2 * (-3.5 / 3 + 1.25) - 1), 1e-15);
  const auto log_odds = [](double a) { return a - std::log(1 - std::exp(a)); };
  EXPECT_NEAR(loss(PreferenceMethod::orpo), 3.5 / 3 + 0.1 * minus_log_sigmoid(log_odds(-3.5 / 3) - log_odds(-1.25)), 1e-14);
  PreferenceConfig smooth = with_method(PreferenceMethod::dpo);
  smooth.label_smoothing = 0.25;
  EXPECT_NEAR(sums_of(smooth, pair, l).loss, 0.75 * minus_log_sigmoid(0.025) + 0.25 * minus_log_sigmoid(-0.025), 1e-15);
  smooth.sft_share = 0.5;
  EXPECT_NEAR(sums_of(smooth, pair, l).loss, 0.375 * minus_log_sigmoid(0.025) + 0.125 * minus_log_sigmoid(-0.025) + 0.5 * 3.5 / 3, 1e-15);
}

TEST(PreferenceLoss, OfKtoEstimatesTheDivergence) {
  const PreferenceConfig config = with_method(PreferenceMethod::kto);
  const std::vector<Answer> answers = three_judgments();
  const double z = 0.1 * (0.5 + 0.5 + 0.5) / 3;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const PreferenceSums sums = sums_of(config, answers, kLogProbabilities);
  EXPECT_NEAR(sums.loss, 3 - sigmoid(0.05 - z) - sigmoid(z + 0.075) - sigmoid(-0.1 - z), 1e-15);
  EXPECT_NEAR(sums.kl / sums.units, z / 0.1, 1e-15);
  EXPECT_EQ(sums.chosen, 2);
  EXPECT_EQ(sums.rejected, 1);
  std::vector<double> lower = kLogProbabilities;
  lower[1] -= 100;
  EXPECT_EQ(sums_of(config, answers, lower).kl, 0) << "at least 0";
}

TEST(PreferenceLoss, BeginsAtLnTwoWithoutMargins) {
  const std::vector<Answer> answers = three_pairs();
  std::vector<double> l, slopes(answers.size());
  for (const Answer& answer : answers) {
    l.push_back(answer.reference);
  }
  const PreferenceSums sums = preference_loss(with_method(PreferenceMethod::dpo), answers, l, slopes);
  EXPECT_DOUBLE_EQ(sums.loss / sums.units, std::numbers::ln2);
  EXPECT_EQ(sums.chosen_reward, 0);
  EXPECT_EQ(sums.rejected_reward, 0);
  EXPECT_EQ(sums.right / sums.units, 0.5);
  EXPECT_DOUBLE_EQ(slopes[0], -0.05);
  EXPECT_DOUBLE_EQ(slopes[1], 0.05);
}

TEST(PreferenceLoss, SumsCanBeAddedAndExchanged) {
  const PreferenceConfig config = with_method(PreferenceMethod::dpo);
  const std::vector<Answer> answers = three_pairs();
  const PreferenceSums all = sums_of(config, answers, kLogProbabilities);
  PreferenceSums sum = sums_of(config, {answers.begin(), answers.begin() + 2}, {kLogProbabilities.begin(), kLogProbabilities.begin() + 2});
  sum.add(PreferenceSums::from(
      sums_of(config, {answers.begin() + 2, answers.end()}, {kLogProbabilities.begin() + 2, kLogProbabilities.end()}).numbers()));
  for (std::size_t i = 0; i < PreferenceSums::kNumbers; ++i) {
    EXPECT_NEAR(sum.numbers()[i], all.numbers()[i], 1e-12);
  }
  EXPECT_EQ(all.right, 0.5) << "one tie, and two that are wrong";
}

TEST(PreferenceLoss, StaysFiniteFarFromTheReference) {
  for (const PreferenceMethod method : {PreferenceMethod::dpo, PreferenceMethod::orpo, PreferenceMethod::simpo}) {
    for (const double far : {-1e5, -1e-320, 0.0}) {
      std::vector<double> slopes(2);
      const std::vector<Answer> pair = {three_pairs()[0], three_pairs()[1]};
      const PreferenceSums sums = preference_loss(with_method(method), pair, std::vector<double>{far, -2}, slopes);
      EXPECT_TRUE(std::isfinite(sums.loss) && std::isfinite(slopes[0]) && std::isfinite(slopes[1])) << name_of(method) << far;
    }
  }
  std::vector<double> slopes(6);
  EXPECT_THROW(preference_loss(with_method(PreferenceMethod::none), three_pairs(), kLogProbabilities, slopes), Error);
}

}  // namespace
}  // namespace dikkat
