#include <algorithm>
#include <memory>
#include <set>

#include "tests/train/cli/workspace.h"

// Several programs, and people with rm and mv, use the same folders.
namespace dikkat::testing {
namespace {

class RunInUse : public ::testing::Test {
 protected:
  RunInUse()
      : training_(here_.here({"train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=1000000",
                              "train.eval_interval=1000000", "train.checkpoint_interval=1000000"})) {}
  void SetUp() override {
    ASSERT_TRUE(training_.until([&] { return here_.metric_lines("run") > 2; })) << training_.err();
  }
  void expect_kept(const std::string& name) {
    for (const Words& words : {Words{"runs", "rm", name, "--yes"}, Words{"resume", name}}) {
      const Outcome refused = here_.run(words);
      EXPECT_EQ(refused.code, 2) << refused.err;
      expect_named(refused.err, {"dikkat: ", name});
    }
    EXPECT_FALSE(here_.checkpoint(name, 0).empty());
  }

  Workspace here_;
  Program training_;
};

TEST_F(RunInUse, IsNotRemovedEvenIfItsLockFileChanges) {
  expect_kept("run");
  std::filesystem::remove(here_ / "run/.lock");
  expect_kept("run");
  EXPECT_EQ(Json::parse(here_.run({"runs", "--in", ".", "--json"}).out)["runs"][0]["state"], "running");
  here_.write("run/.lock", "1\n");
  expect_kept("run");
  std::filesystem::rename(here_ / "run", here_ / "moved");
  expect_kept("moved");
  std::filesystem::rename(here_ / "moved", here_ / "run");
  training_.send(SIGINT);
  const Outcome stopped = training_.wait();
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  const Outcome removed = here_.run({"runs", "rm", "run", "--yes"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_FALSE(std::filesystem::exists(here_ / "run"));
}

TEST(RunsWithoutOut, ThatStartTogetherGetNamesOfTheirOwn) {
  const Workspace here;
  constexpr int kMany = 5;
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < kMany; ++i) {
    programs.push_back(std::make_unique<Program>(here.here({"train", "--config", "tiny.toml", "--set", "train.max_steps=1"})));
  }
  std::set<std::string> names;
  for (const auto& program : programs) {
    const Outcome outcome = program->wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    names.insert(outcome.out);
  }
  EXPECT_EQ(names, (std::set<std::string>{"runs/tiny\n", "runs/tiny-2\n", "runs/tiny-3\n", "runs/tiny-4\n", "runs/tiny-5\n"}));
}

}  // namespace
}  // namespace dikkat::testing
