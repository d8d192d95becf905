#include <sys/resource.h>

#include "tests/train/cli/workspace.h"

// Standard streams that are full, closed or gone.
namespace dikkat::testing {
namespace {

class StreamsTest : public ::testing::Test {
 protected:
  void SetUp() override { here_.train("run", {"train.max_steps=2"}); }

  Workspace here_;
};

TEST_F(StreamsTest, ResultsThatCannotBeWrittenAreAFailure) {
  const auto before = here_.tree();
  for (const std::string& out : {std::string("/dev/full"), kClosed}) {
    for (const Words& words : {Words{"eval", "run", "--json"},
                               {"eval", "run"},
                               {"sample", "run", "--max-new-tokens", "1"},
                               {"inspect", "run"},
                               {"inspect", "run", "--json"},
                               {"verify", "run"},
                               {"--help"},
                               {"train", "--help"},
                               {"--version"},
                               {"--help-config"}}) {
      const Outcome outcome = here_.run(words, {.out = out});
      EXPECT_EQ(outcome.code, 1) << words.front() << ' ' << out;
      expect_named(outcome.err, {"dikkat: ", out == kClosed ? "Bad file descriptor" : "No space left on device"});
    }
  }
  EXPECT_EQ(here_.tree(), before);
}

// `git log | head` leaves in this way.
TEST_F(StreamsTest, AReaderThatLeavesEndsTheProgramQuietly) {
  for (const std::string words :
       {"--help-config", "train --help", "--version", "inspect run --json", "eval run --json", "sample run --max-new-tokens 1",
        "runs --in . --json", "runs --in .", "corpus inspect text.txt", "verify run", "completion bash", "config list"}) {
    const std::string command = "cd '" + here_.here({}).folder + "' && ( sleep 0.1; '" DIKKAT_PROGRAM "' " + words +
                                " 2>errors; echo $? >code ) | :";  // its reader has left by then
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(contents(here_ / "code"), "141\n") << words << ": " << contents(here_ / "errors");
    EXPECT_FALSE(contains(contents(here_ / "errors"), "dikkat: ")) << words << ": " << contents(here_ / "errors");
  }
}

TEST_F(StreamsTest, TrainingWithoutStandardOutputHarmsNoFileOfTheRun) {
  const Outcome outcome = here_.run({"train", "--config", "tiny.toml", "--out", "mute"}, {.out = kClosed});
  EXPECT_EQ(outcome.code, 1);
  expect_named(outcome.err, {"Bad file descriptor"});
  EXPECT_FALSE(contains(contents(here_ / "mute/.lock"), "mute")) << "the lock's descriptor is not taken for standard output";
  EXPECT_EQ(here_.run({"verify", "mute"}).code, 0);
  EXPECT_EQ(here_.metrics("mute").size(), 20U + 4U);
}

TEST_F(StreamsTest, TrainingContinuesWithoutAReader) {
  here_.train("heard");
  for (const std::string& err : {std::string("/dev/full"), kClosed}) {
    const std::string name = err == kClosed ? "closed" : "full";
    const Outcome outcome = here_.run({"train", "--config", "tiny.toml", "--out", name}, {.err = err});
    EXPECT_EQ(outcome.code, 0) << err;
    EXPECT_EQ(outcome.out, name + "\n");
    EXPECT_EQ(here_.checkpoint(name, 20), here_.checkpoint("heard", 20));
    EXPECT_EQ(here_.timeless_metrics(name), here_.timeless_metrics("heard"));
    EXPECT_LT(contents(here_ / name / ".lock").size(), 12U) << "it holds only a process id";
  }
}

TEST_F(StreamsTest, TrainingContinuesWhenItsReaderLeaves) {
  const Start start = here_.here({});
  const std::string command = "cd '" + start.folder +
                              "' && { GOMP_SPINCOUNT=1000 OMP_NUM_THREADS=2 '" DIKKAT_PROGRAM
                              "' train --config tiny.toml --out piped 2>&1 >result; echo $? >code; } | head -n 1 >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(contents(here_ / "code"), "0\n");
  EXPECT_EQ(contents(here_ / "result"), "piped\n");
}

TEST_F(StreamsTest, AFileThatMayNotGrowIsAFailure) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 16384, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);  // as ulimit -f does
  const Outcome outcome = here_.run({"train", "--config", "tiny.toml", "--out", "small"});
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(outcome.code, 1);
  expect_named(outcome.err, {"File too large"});
}

TEST_F(StreamsTest, AnErrorThatNobodyReadsHasItsExitCode) {
  for (const std::string& err : {std::string("/dev/full"), kClosed}) {
    EXPECT_EQ(here_.run({"eval", "nothing"}, {.err = err}).code, 2);
    EXPECT_EQ(here_.run({"bogus"}, {.err = err}).code, 2);
  }
}

TEST_F(StreamsTest, AClosedStandardInputIsNotAPrompt) {
  const Outcome outcome = here_.run({"sample", "run", "--prompt", "-", "--max-new-tokens", "1"}, {.in = kClosed});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "") << "above all not the checkpoint's bytes";
  expect_named(outcome.err, {"dikkat: ", "prompt"});
}

}  // namespace
}  // namespace dikkat::testing
