#include <cmath>

#include <gtest/gtest.h>

#include "train/loop/metrics.h"

namespace dikkat {
namespace {

const std::string kStep1 = "{\"event\":\"step\",\"step\":1,\"loss\":2.5}\n";
const std::string kStep2 = "{\"event\":\"step\",\"step\":2,\"loss\":2.25}\n";

TEST(KeepMetrics, LeavesOutLaterStepsAndATornLine) {
  EXPECT_EQ(keep_metrics(kStep1 + kStep2, 1).text, kStep1);
  EXPECT_EQ(keep_metrics(kStep1 + kStep2.substr(0, 20), 2).text, kStep1);
  EXPECT_EQ(keep_metrics("", 2).text, "");
}

TEST(KeepMetrics, CountsWhatTheRunHasNotWritten) {
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + kStep2.substr(0, 20), 1).foreign, 0) << "torn at the end";
  for (const std::size_t bytes : {0U, 1U, 8U, 20U, 30U}) {
    EXPECT_EQ(keep_metrics(kStep1.substr(0, bytes) + "\n" + kStep2, 2).foreign, 0) << "torn after " << bytes << ", and gone on";
  }
  EXPECT_EQ(keep_metrics("{\"event\":\"note\"}\n" + kStep1 + "note\n", 2).foreign, 2);
}

TEST(KeepMetrics, FindsTheEvaluationOfTheStep) {
  const std::string evaluation = "{\"event\":\"eval\",\"step\":2,\"train_loss\":1.5,\"val_loss\":1.75}\n";
  const KeptMetrics kept = keep_metrics(kStep1 + kStep2 + evaluation, 2);
  EXPECT_EQ(kept.text, kStep1 + kStep2 + evaluation);
  ASSERT_TRUE(kept.evaluation);
  EXPECT_EQ(kept.evaluation->step, 2);
  EXPECT_EQ(kept.evaluation->train_loss, 1.5);
  EXPECT_EQ(kept.evaluation->val_loss, 1.75);
  EXPECT_FALSE(keep_metrics(kStep1 + kStep2 + evaluation, 3).evaluation);
}

TEST(KeepMetrics, ANumberThatIsNotFiniteIsNull) {
  const KeptMetrics kept = keep_metrics("{\"event\":\"eval\",\"step\":2,\"train_loss\":null,\"val_loss\":1.75}\n", 2);
  ASSERT_TRUE(kept.evaluation);
  EXPECT_TRUE(std::isnan(kept.evaluation->train_loss));
  EXPECT_FALSE(keep_metrics("{\"event\":\"eval\",\"step\":2,\"train_loss\":1,\"val_loss\":null}\n", 2).evaluation);
}

TEST(KeepMetrics, TakesAnyDamage) {
  for (const char* line : {"\n", "null\n", "[]\n", "{}\n", "{\"step\":\"2\"}\n", "{\"step\":1e400}\n", "{\"step\":2.0}\n", "\xFF\n",
                           "{\"step\":2\n", "{\"step\":18446744073709551615}\n", "{\"step\":9223372036854775808}\n"}) {
    EXPECT_EQ(keep_metrics(kStep1 + line + kStep2, 2).text, kStep1 + kStep2) << line;
  }
  for (const char* line : {"{\"event\":3,\"step\":2,\"val_loss\":1}\n", "{\"event\":{},\"step\":2}\n",
                           "{\"event\":\"eval\",\"step\":2,\"val_loss\":\"1\"}\n"}) {
    const KeptMetrics kept = keep_metrics(line, 2);
    EXPECT_EQ(kept.text, line);
    EXPECT_FALSE(kept.evaluation) << line;
  }
}

}  // namespace
}  // namespace dikkat
