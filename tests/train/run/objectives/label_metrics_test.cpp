#include "train/run/objectives/label_metrics.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "train/metrics/label_table.h"

// The figures of classifiers, by hand.
namespace dikkat {
namespace {

constexpr double kHigh = 2, kLow = 0;

/// Adds a text of label `has` whose likeliest of three labels is `got`.
void add(JudgedLabels& judged, std::size_t has, std::size_t got) {
  for (std::size_t i = 0; i < 3; ++i) {
    judged.logits.push_back(i == got ? kHigh : kLow);
    judged.targets.push_back(i == has ? 1 : 0);
  }
}

TEST(LabelMetrics, CountsRightAndWrongLabels) {
  const ClassifyConfig classify{.field = "label", .labels = {"a", "b", "c"}, .several = false};
  JudgedLabels judged;
  for (const auto& [has, got] : {std::pair(0, 0), {0, 0}, {0, 1}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, {0, 0}}) {
    add(judged, static_cast<std::size_t>(has), static_cast<std::size_t>(got));
  }
  const LabelTable table = label_table(classify, judged);
  EXPECT_EQ(table.counts, (std::vector<index>{3, 1, 0, 1, 3, 0, 0, 0, 0}));
  const Metrics metrics = label_metrics(classify, judged, table);
  EXPECT_NEAR(value_of(metrics, "accuracy"), 6.0 / 8, 1e-12);
  EXPECT_NEAR(value_of(metrics, "macro_f1"), 6.0 / 8, 1e-12) << "a label that no text has or gets does not count";
  const double likeliest = std::exp(kHigh) / (std::exp(kHigh) + 2);
  EXPECT_NEAR(value_of(metrics, "calibration_error"), std::abs(6.0 / 8 - likeliest), 1e-12) << "one bin";
  EXPECT_EQ(label_table_of(nlohmann::json::parse(to_json(table).dump())), table);
  add(judged, 0, 2);
  EXPECT_NEAR(value_of(label_metrics(classify, judged, label_table(classify, judged)), "macro_f1"), (6.0 / 9 + 6.0 / 8 + 0) / 3, 1e-12)
      << "one that a text gets counts";
}

TEST(LabelMetrics, CountsEachOfSeveralLabels) {
  const ClassifyConfig classify{.field = "label", .labels = {"a", "b"}, .several = true};
  const JudgedLabels judged{.logits = {1, -1, 1, 1, -1, -1}, .targets = {1, 0, 0, 1, 1, 0}};
  const LabelTable table = label_table(classify, judged);
  EXPECT_EQ(table.counts, (std::vector<index>{1, 1, 1, 1, 0, 0})) << "right, missed, wrong";
  const Metrics metrics = label_metrics(classify, judged, table);
  EXPECT_NEAR(value_of(metrics, "accuracy"), 1.0 / 3, 1e-12) << "only the first text has all of its labels";
  EXPECT_NEAR(value_of(metrics, "macro_f1"), (0.5 + 1) / 2, 1e-12);
  const double high = 1 / (1 + std::exp(-1.0)), low = 1 - high;
  EXPECT_NEAR(value_of(metrics, "calibration_error"), (std::abs(2 - 3 * high) + std::abs(1 - 3 * low)) / 6, 1e-12);
  EXPECT_EQ(label_table_of(nlohmann::json::parse(to_json(table).dump())), table);
}

TEST(LabelMetrics, HasTheLossOfAText) {
  const std::vector<double> logits = {0.5, -1, 2}, targets = {0, 1, 0};
  const double sum = std::exp(0.5) + std::exp(-1) + std::exp(2);
  EXPECT_NEAR(label_loss(logits, targets, false), -std::log(std::exp(-1) / sum), 1e-12);
  double binary = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = 1 / (1 + std::exp(-logits[i]));
    binary -= std::log(targets[i] > 0 ? p : 1 - p) / 3;
  }
  EXPECT_NEAR(label_loss(logits, targets, true), binary, 1e-12);
  EXPECT_TRUE(std::isfinite(label_loss(std::vector<double>{1000, -1000}, std::vector<double>{0, 1}, true)));
}

TEST(LabelMetrics, IgnoresTablesThatAreEdited) {
  for (const char* text : {"7", "{}", R"({"labels": ["a"], "confusion": [[1, 2]]})", R"({"labels": ["a", "b"], "confusion": [[1, 2]]})",
                           R"({"labels": 3, "confusion": []})", R"({"labels": ["a"], "several": [[1, 2]]})"}) {
    EXPECT_TRUE(label_table_of(nlohmann::json::parse(text)).empty()) << text;
  }
}

}  // namespace
}  // namespace dikkat
