#include "train/metrics/read_metrics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

const std::string kStep1 = "{\"event\":\"step\",\"step\":1,\"loss\":2.5}\n";
const std::string kStep2 = "{\"event\":\"step\",\"step\":2,\"loss\":2.25}\n";

TEST(KeepMetrics, LeavesOutLaterStepsAndATornLine) {
  EXPECT_EQ(keep_metrics(kStep1 + kStep2, 1).text, kStep1);
  EXPECT_EQ(keep_metrics(kStep1 + kStep2.substr(0, 20), 2).text, kStep1);
  EXPECT_EQ(keep_metrics("", 2).text, "");
}

TEST(KeepMetrics, CountsLinesThatTheRunHasNotWritten) {
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + kStep2.substr(0, 20), 1).foreign, 0) << "torn at the end";
  for (const std::size_t bytes : {0U, 1U, 8U, 20U, 30U}) {
    EXPECT_EQ(keep_metrics(kStep1.substr(0, bytes) + "\n" + kStep2, 2).foreign, 0) << "torn after " << bytes << ", and continued";
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

TEST(KeepMetrics, SamplesWithoutTheirEvaluationAreWrittenAgain) {
  const std::string sample = "{\"event\":\"sample\",\"step\":2,\"prompt\":\"a\",\"text\":\"b\"}\n";
  const std::string evaluation = "{\"event\":\"eval\",\"step\":2,\"train_loss\":1.5,\"val_loss\":1.75}\n";
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + sample, 2).text, kStep1 + kStep2);
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + sample + sample + evaluation, 2).text, kStep1 + kStep2 + sample + sample + evaluation);
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + evaluation + sample, 2).text, kStep1 + kStep2 + evaluation + sample)
      << "the order of an earlier version";
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + sample, 3).text, kStep1 + kStep2 + sample) << "the rest of a later step stays";
  const std::string none = "{\"event\":\"eval\",\"step\":2,\"train_loss\":null,\"val_loss\":null}\n";
  EXPECT_EQ(keep_metrics(kStep1 + kStep2 + sample + none, 2).text, kStep1 + kStep2) << "an evaluation without a loss is made again";
}

TEST(KeepMetrics, KnowsTheSaveOfTheStep) {
  const std::string save = "{\"event\":\"save\",\"step\":2,\"file\":\"step-000000002.h5\",\"bytes\":7}\n";
  EXPECT_TRUE(keep_metrics(kStep1 + kStep2 + save, 2).has_save);
  EXPECT_FALSE(keep_metrics(kStep1 + kStep2 + save, 3).has_save);
  EXPECT_FALSE(keep_metrics(kStep1 + kStep2, 2).has_save);
}

TEST(KeepMetrics, ReadsTheTokensThatAnEvaluationScored) {
  const std::string scored =
      R"({"event":"eval","step":2,"train_loss":1,"val_loss":2,"scored":{"targets":"a1","contexts":"b2","text":"c3"}})"
      "\n";
  EXPECT_EQ(keep_metrics(kStep2 + scored, 2).evaluation->scored, (LossFingerprint{.targets = "a1", .contexts = "b2", .text = "c3"}));
  for (const char* other : {R"("scored":7)", R"("scored":{})", R"("scored":{"targets":4})", R"("x":0)"}) {
    const std::string line = R"({"event":"eval","step":2,"train_loss":1,"val_loss":2,)" + std::string(other) + "}\n";
    EXPECT_FALSE(keep_metrics(kStep2 + line, 2).evaluation->scored.is_known()) << other;
  }
}

TEST(KeepMetrics, ANumberThatIsNotFiniteIsNull) {
  const KeptMetrics kept = keep_metrics("{\"event\":\"eval\",\"step\":2,\"train_loss\":null,\"val_loss\":1.75}\n", 2);
  ASSERT_TRUE(kept.evaluation);
  EXPECT_TRUE(std::isnan(kept.evaluation->train_loss));
  EXPECT_FALSE(keep_metrics("{\"event\":\"eval\",\"step\":2,\"train_loss\":1,\"val_loss\":null}\n", 2).evaluation);
}

const std::string kHeader =
    R"({"event":"header","format":1,"step":0,"date":"2026-11-23T00:30:00Z","version":"0.1.0","commit":"c0ffee","command":["dikkat","train"],)"
    R"("host":"here","processor":"a 286","threads":2,"parameters":11072,"corpus":"abc","time":1795000000.5})"
    "\n";

TEST(KeepMetrics, KnowsTheErrorAndTheTime) {
  const std::string step = "{\"event\":\"step\",\"step\":2,\"ms\":500}\n";
  const std::string evaluation = "{\"event\":\"eval\",\"step\":2,\"val_loss\":1.75,\"val_standard_error\":0.25,\"ms\":1500}\n";
  const KeptMetrics kept = keep_metrics(kStep1 + step + evaluation + "{\"event\":\"step\",\"step\":3,\"ms\":9000}\n", 2);
  ASSERT_TRUE(kept.evaluation);
  EXPECT_EQ(kept.evaluation->val_standard_error, 0.25);
  EXPECT_EQ(kept.seconds, 2) << "not of later events";
}

TEST(KeepMetrics, FindsTheHeader) {
  const KeptMetrics kept = keep_metrics(kHeader + kStep1, 0);
  EXPECT_EQ(kept.text, kHeader);
  ASSERT_TRUE(kept.header);
  EXPECT_EQ(kept.header->provenance.date, "2026-11-23T00:30:00Z");
  EXPECT_EQ(kept.header->provenance.version + kept.header->provenance.commit, "0.1.0c0ffee");
  EXPECT_EQ(kept.header->provenance.command, (std::vector<std::string>{"dikkat", "train"}));
  EXPECT_EQ(kept.header->provenance.host + kept.header->provenance.processor + kept.header->corpus, "herea 286abc");
  EXPECT_EQ(kept.header->provenance.threads, 2);
  EXPECT_EQ(kept.header->parameters, 11072);
  EXPECT_FALSE(keep_metrics(kStep1, 1).header);
  for (const char* odd :
       {R"({"event":"header","step":0,"command":[1,{}],"threads":1e300,"parameters":-1,"host":[]})", R"({"event":"header","step":0})"}) {
    const auto header = keep_metrics(odd + std::string("\n"), 0).header;
    ASSERT_TRUE(header) << odd;
    EXPECT_EQ(header->provenance.threads + header->parameters, 0) << odd;
  }
}

TEST(KeepMetrics, LeavesOutEventsAfterTheStep) {
  const std::string saved = R"({"event":"save","step":1,"file":"step-000000001.h5","bytes":7,"time":1.5})"
                            "\n";
  const std::string resumed = R"({"event":"resume","step":1})"
                              "\n";
  const std::string stopped = R"({"event":"stop","step":2,"reason":"SIGINT"})"
                              "\n";
  const KeptMetrics kept = keep_metrics(kHeader + kStep1 + saved + resumed + kStep2 + stopped, 1);
  EXPECT_EQ(kept.text, kHeader + kStep1 + saved + resumed);
  EXPECT_EQ(kept.foreign, 0);
}

TEST(KeepMetrics, SurvivesAnyDamage) {
  for (const char* line : {"\n", "null\n", "[]\n", "{}\n", "{\"step\":\"2\"}\n", "{\"step\":1e400}\n", "{\"step\":2.0}\n", "\xFF\n",
                           "{\"step\":2\n", "{\"step\":18446744073709551615}\n", "{\"step\":9223372036854775808}\n"}) {
    EXPECT_EQ(keep_metrics(kStep1 + line + kStep2, 2).text, kStep1 + kStep2) << line;
  }
  for (const char* line : {"{\"event\":3,\"step\":2,\"val_loss\":1}\n", "{\"event\":{},\"step\":2}\n"}) {
    const KeptMetrics kept = keep_metrics(line, 2);
    EXPECT_EQ(kept.text, line);
    EXPECT_FALSE(kept.evaluation) << line;
  }
  const KeptMetrics damaged = keep_metrics("{\"event\":\"eval\",\"step\":2,\"val_loss\":\"1\"}\n", 2);
  EXPECT_EQ(damaged.text, "") << "the evaluation is made again";
  EXPECT_FALSE(damaged.evaluation);
}

}  // namespace
}  // namespace dikkat
