#include "train/web/report/run_view.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

/// Runs whose metrics are written by hand.
class RunViewTest : public ::testing::Test {
 protected:
  /// `scored` is the evaluation's record of the scored tokens: a JSON object, or nothing as in an earlier version.
  RunView run(const std::string& name, double loss, const std::string& scored, const std::string& config = "",
              const std::string& corpus = "c") const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path);
    std::ofstream(path / "config.toml") << config;
    std::ofstream(path / "metrics.jsonl")
        << R"({"event":"header","step":0,"tokenizer":"char","vocab_size":65,"val_tokens":9,"bytes_per_token":1,"corpus":")" << corpus
        << "\"}\n"
        << R"({"event":"eval","step":1,"train_loss":1,"val_loss":)" << loss << (scored.empty() ? "" : R"(,"scored":)" + scored) << "}\n";
    return view_run(path);
  }
  static std::string scored(const std::string& targets, const std::string& contexts = "c", const std::string& text = "t") {
    return concat(R"({"targets":")", targets, R"(","contexts":")", contexts, R"(","text":")", text, "\"}");
  }

  TemporaryFolder folder_;
};

TEST_F(RunViewTest, equalSetsAreCompared) {
  const std::vector<RunView> runs = {run("a", 2, scored("x")),
                                     run("b", 1.5, scored("x"), "", "another corpus with the same validation text")};
  EXPECT_EQ(compare(runs), Comparison::same);
  EXPECT_EQ(remark_on(compare(runs), runs), "");
  ASSERT_TRUE(better_of(runs));
  EXPECT_EQ(better_of(runs)->best, 1U);
  EXPECT_TRUE(names(in_words(*better_of(runs), runs), {"better", runs[0].path.string(), runs[1].path.string(), "0.5000"}));
}

TEST_F(RunViewTest, otherTargetsHaveNoBestAndTheKeyIsNamed) {
  const std::vector<RunView> runs = {run("answers", 2, scored("x", "c", "p"), "[chat]\nloss = \"answers\"\n"),
                                     run("all", 1.5, scored("y", "d", "q"), "[chat]\nloss = \"all\"\n")};
  EXPECT_EQ(compare(runs), Comparison::other_targets);
  EXPECT_FALSE(better_of(runs));
  EXPECT_FALSE(have_same_text(runs));
  const std::string remark = remark_on(compare(runs), runs);
  EXPECT_TRUE(names(remark, {"chat.loss", "dikkat eval"}));
  EXPECT_EQ(remark.find("bits per byte"), std::string::npos) << "they are over other bytes: " << remark;
}

TEST_F(RunViewTest, otherTokensOfOneTextCanBeComparedInBitsPerByte) {
  const std::vector<RunView> runs = {run("a", 2, scored("x", "c", "same")), run("b", 1.5, scored("y", "d", "same"))};
  EXPECT_EQ(compare(runs), Comparison::other_targets);
  EXPECT_FALSE(better_of(runs));
  EXPECT_TRUE(have_same_text(runs));
  EXPECT_TRUE(names(remark_on(compare(runs), runs), {"bits per byte"}));
  const std::vector<RunView> unknown = {run("c", 2, scored("x", "c", "")), run("d", 1.5, scored("y", "d", ""))};
  EXPECT_FALSE(have_same_text(unknown)) << "a tokenizer that loses something of a text";
}

TEST_F(RunViewTest, otherContextsAreNamedBesideTheLosses) {
  const std::vector<RunView> runs = {run("a", 2, scored("x", "short"), "[model]\nblock_size = 32\n"),
                                     run("b", 1.5, scored("x", "long"), "[model]\nblock_size = 64\n")};
  EXPECT_EQ(compare(runs), Comparison::other_contexts);
  ASSERT_TRUE(better_of(runs));
  EXPECT_TRUE(names(in_words(*better_of(runs), runs), {"0.5000"}));
  EXPECT_EQ(in_words(*better_of(runs), runs).find("better"), std::string::npos);
  EXPECT_TRUE(names(remark_on(compare(runs), runs), {"contexts", "model.block_size (32, 64)"}));
}

TEST_F(RunViewTest, metricsOfAnEarlierVersionAreUnknown) {
  const std::vector<RunView> runs = {run("a", 2, ""), run("b", 1.5, scored("x"))};
  EXPECT_EQ(compare(runs), Comparison::unknown);
  EXPECT_TRUE(names(in_words(*better_of(runs), runs), {"0.5000"}));
  EXPECT_EQ(in_words(*better_of(runs), runs).find("better"), std::string::npos);
  EXPECT_TRUE(names(remark_on(compare(runs), runs), {"not known", "earlier version"}));
  const std::vector<RunView> others = {run("c", 2, ""), run("d", 1.5, "", "", "another corpus")};
  EXPECT_EQ(compare(others), Comparison::other_targets) << "as in earlier versions";
}

TEST_F(RunViewTest, aRunWithoutALossIsNotCompared) {
  std::filesystem::create_directories(folder_ / "empty");
  const std::vector<RunView> runs = {run("a", 2, scored("x")), view_run(folder_ / "empty")};
  EXPECT_EQ(compare(runs), Comparison::same);
  EXPECT_FALSE(better_of(runs));
}

// A program's own loop has settings in its header, no config.toml, and need not save a checkpoint.
TEST_F(RunViewTest, aRunOfAProgramsOwnLoopHasItsSettings) {
  const auto own = [&](const std::string& name, const std::string& rate, const std::string& end) {
    folder_.write(name + "/metrics.jsonl", concat(R"({"event":"header","step":0,"parameters":7,"settings":{"rate":")", rate,
                                                  R"(","width":"3"}})", "\n", R"({"event":"eval","step":1,"val_loss":1})", "\n", end));
    return view_run(folder_ / name);
  };
  const std::vector<RunView> runs = {own("a", "1",
                                         R"({"event":"finish","step":1})"
                                         "\n"),
                                     own("b", "1",
                                         R"({"event":"change","step":1,"key":"rate","before":"1","after":"2"})"
                                         "\n")};
  EXPECT_EQ(runs[0].state, RunState::finished);
  EXPECT_EQ(runs[1].state, RunState::stopped);
  for (const RunView& run : runs) {
    EXPECT_EQ(run.problem, "");
    EXPECT_EQ(run.config.problem, "");
    EXPECT_EQ(run.value_of("width"), "3");
    EXPECT_EQ(run.parameters, 7);
  }
  EXPECT_EQ(runs[1].value_of("rate"), "2");
  const std::vector<KeyOfRuns> keys = differing_keys(runs);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].key, "rate");
  EXPECT_EQ(compare(runs), Comparison::unknown);
}

}  // namespace
}  // namespace dikkat
