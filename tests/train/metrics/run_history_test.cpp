#include "train/metrics/run_history.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "train/metrics/metrics_log.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

void append(const std::filesystem::path& file, const std::string& text) { std::ofstream(file, std::ios::app | std::ios::binary) << text; }

TEST(RunHistory, reads_back_the_lines_of_the_log) {
  const TemporaryFolder folder;
  // Write a line of every kind.
  {
    MetricsLog log(folder / "metrics.jsonl", 0);
    log.write(
        RunHeader{.provenance = {.version = "1", .command = {"dikkat", "train"}, .threads = 2}, .parameters = 7, .bytes_per_token = 1.5});
    log.write(StepReport{
        .step = 1, .loss = 2, .gradient_norm = 3, .learning_rate = 0.5, .skipped = true, .tokens = 64, .seconds = 0.25, .mfu = 0.5});
    log.write("save", 1, {{"file", std::string("step-000000001.h5")}, {"bytes", index{99}}});
    log.write(EvaluationReport{.step = 1, .train_loss = 2, .val_loss = 2.5, .val_standard_error = 0.1, .seconds = 1, .memory = 4096});
    log.write("sample", 1, {{"prompt", std::string("The ")}, {"text", std::string("cat\n")}});
    log.write("stop", 1, {{"reason", std::string("SIGINT")}});
    log.write_resume(1, {.host = "there"});
    log.write("change", 1, {{"key", std::string("train.max_steps")}, {"before", std::string("1")}, {"after", std::string("2")}});
    log.write(StepReport{.step = 2, .loss = std::nan(""), .tokens = 64, .seconds = 0.25});
    log.write(EvaluationReport{.step = 2, .train_loss = 2, .val_loss = 2.75, .seconds = 1});
    log.write("finish", 2);
  }
  // Read them back.
  const RunHistory history = read_history(folder.path());
  ASSERT_TRUE(history.header);
  EXPECT_EQ(history.header->provenance.command.size(), 2U);
  EXPECT_EQ(history.header->bytes_per_token, 1.5);
  ASSERT_EQ(history.steps.size(), 2U);
  EXPECT_EQ(history.steps[0].report.gradient_norm, 3);
  EXPECT_EQ(history.steps[0].report.seconds, 0.25);
  EXPECT_TRUE(history.steps[0].report.skipped);
  EXPECT_FALSE(history.steps[1].report.skipped);
  EXPECT_TRUE(std::isnan(history.steps[1].report.loss)) << "null";
  EXPECT_GT(history.steps[0].time, 1.7e9);
  ASSERT_EQ(history.evaluations.size(), 2U);
  EXPECT_EQ(history.evaluations[0].report.memory, 4096);
  ASSERT_NE(history.best(), nullptr);
  EXPECT_EQ(history.best()->report.step, 1);
  ASSERT_EQ(history.saves.size(), 1U);
  EXPECT_EQ(history.saves[0].bytes, 99);
  ASSERT_EQ(history.samples.size(), 1U);
  EXPECT_EQ(history.samples[0].text, "cat\n");
  ASSERT_EQ(history.events.size(), 4U);
  EXPECT_EQ(history.events[0].reason, "SIGINT");
  EXPECT_EQ(history.events[1].provenance.host, "there");
  EXPECT_EQ(history.events[2].key + history.events[2].before + history.events[2].after, "train.max_steps12");
  EXPECT_TRUE(history.finished());
  EXPECT_EQ(history.last_step(), 2);
}

TEST(RunHistory, is_refused_if_there_is_no_run) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_history(folder.path()), InputError);
  EXPECT_THROW(read_history(folder / "nowhere"), InputError);
  append(folder / "metrics.jsonl", "a note\n");
  EXPECT_THROW(read_history(folder.path()), InputError);
}

TEST(HistoryReader, follows_a_file_that_grows) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "metrics.jsonl";
  HistoryReader reader(folder.path());
  EXPECT_FALSE(reader.update()) << "there is no file yet";
  const std::string first = R"({"event":"step","step":1,"loss":2})";
  append(file, first.substr(0, 20));
  EXPECT_FALSE(reader.update()) << "half a line";
  append(file, first.substr(20) + "\n");
  EXPECT_TRUE(reader.update());
  EXPECT_FALSE(reader.update());
  ASSERT_EQ(reader.history().steps.size(), 1U);
  EXPECT_EQ(reader.history().steps[0].report.loss, 2);

  append(file, "{\"event\":\"step\",\"step\":2,\"loss\":1}\n{\"event\":\"step\",\"step\":3,\"loss\":1}\n");
  EXPECT_TRUE(reader.update());
  EXPECT_EQ(reader.history().steps.size(), 3U);
  replace_file(file,
               first + "\n{\"event\":\"step\",\"step\":2,\"loss\":1.5}\n{\"event\":\"step\",\"step\":3,\"loss\":1.75}\n");  // a resume
  EXPECT_TRUE(reader.update());
  ASSERT_EQ(reader.history().steps.size(), 3U);
  EXPECT_EQ(reader.history().steps[1].report.loss, 1.5);
  std::filesystem::remove(file);
  EXPECT_FALSE(reader.update());
  EXPECT_EQ(reader.history().steps.size(), 3U) << "earlier lines stay";
}

}  // namespace
}  // namespace dikkat
