#include "tests/train/cli/workspace.h"

// No command goes on from a checkpoint that is not what was saved.
namespace dikkat::testing {
namespace {

const std::string kOlder = "run/checkpoints/step-000000004.h5";
const std::string kNewest = "run/checkpoints/step-000000008.h5";

class DamagedCheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    here_.train("run", {"train.max_steps=8", "train.eval_interval=100"});
    good_ = contents(here_ / kNewest);
    ASSERT_GT(good_.size(), 100000U);
  }

  /// Every command refuses this newest checkpoint, with these words.
  void expect_refused(const std::string& bytes, const std::string& words) {
    here_.write(kNewest, bytes);
    const auto before = here_.tree();
    for (const char* command : {"resume", "eval", "sample", "inspect", "verify"}) {
      for (const std::string& source : {std::string("run"), kNewest}) {
        if (command == std::string("resume") && source == kNewest) {
          continue;  // wants a folder
        }
        const Outcome outcome = here_.run({command, source});
        EXPECT_EQ(outcome.code, 2) << command << ' ' << source;
        EXPECT_TRUE(outcome.out == "" || command == std::string("verify")) << outcome.out;
        EXPECT_FALSE(contains(outcome.out, kNewest)) << outcome.out;
        EXPECT_TRUE(contains(outcome.err, kNewest) && contains(outcome.err, words)) << command << ' ' << source << ": " << outcome.err;
      }
    }
    EXPECT_TRUE(here_.tree() == before) << "something was written";
  }

  std::string flipped(std::size_t at) const {
    std::string bytes = good_;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  }

  Workspace here_;
  std::string good_;
};

TEST_F(DamagedCheckpointTest, TruncatedOnes) {
  expect_refused("", "is empty");
  expect_refused(good_.substr(0, 1000), "is truncated");
  expect_refused(good_.substr(0, good_.size() - 1), "is truncated");
}

TEST_F(DamagedCheckpointTest, AlteredOnes) {
  expect_refused(flipped(5000), "was altered");
  expect_refused(flipped(good_.size() - 1), "was altered");
  expect_refused(good_ + "x", "was altered");
}

TEST_F(DamagedCheckpointTest, AnyBitThatIsFlipped) {
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{40}, std::size_t{200}, std::size_t{4095}, std::size_t{4096}, std::size_t{60000}, good_.size() / 2}) {
    here_.write(kNewest, flipped(at));
    const Outcome outcome = here_.run({"verify", kNewest});
    EXPECT_EQ(outcome.code, 2) << at;
    EXPECT_EQ(outcome.out, "") << at;
  }
}

TEST_F(DamagedCheckpointTest, ForeignOnes) {
  expect_refused(good_.substr(4096), "is an HDF5 file but not a dikkat checkpoint");
  expect_refused(tiny_text(2000), "is not a dikkat checkpoint");
}

TEST_F(DamagedCheckpointTest, AnOlderOneIsTakenOnlyWhenAskedFor) {
  here_.write(kNewest, flipped(5000));
  const Outcome refused = here_.run({"resume", "run"});
  EXPECT_TRUE(contains(refused.err, "these older ones are intact: step-000000004.h5") && contains(refused.err, "--latest-good"))
      << refused.err;
  EXPECT_EQ(here_.run({"eval", kOlder}).code, 0);

  const Outcome resumed = here_.run({"resume", "run", "--latest-good", "--set", "train.max_steps=8"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "from step 4 of 8")) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, kNewest + " was altered") &&
              contains(resumed.err, "renamed to run/checkpoints/step-000000008.h5.aside"))
      << resumed.err;
  EXPECT_TRUE(std::filesystem::exists(here_ / (kNewest + ".aside"))) << "the damaged one is kept, out of the way";
  EXPECT_EQ(here_.run({"verify", "run"}).code, 0);
}

// Every command judges alike what cannot be read: it may be on a disk that is not mounted, so it is not damaged.
TEST_F(DamagedCheckpointTest, OneThatCannotBeReadIsNotPassedOver) {
  std::filesystem::remove(here_ / kNewest);
  std::filesystem::create_symlink("/not/mounted", here_ / kNewest);
  const auto before = here_.tree();
  for (const Words& arguments : {Words{"resume", "run"}, Words{"resume", "run", "--latest-good"}, Words{"eval", "run", "--newest"}}) {
    const Outcome refused = here_.run(arguments);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_TRUE(contains(refused.err, kNewest + " (a link to /not/mounted)")) << refused.err;
    EXPECT_TRUE(contains(refused.err, "move this file away") && !contains(refused.err, "--latest-good")) << refused.err;
  }
  EXPECT_TRUE(here_.tree() == before);
  std::filesystem::rename(here_ / kNewest, here_ / "run/link");
  const Outcome resumed = here_.run({"resume", "run"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(DamagedCheckpointTest, NoneIsSetAsideByAResumeThatFails) {
  here_.write(kNewest, flipped(5000));
  const std::string metrics = contents(here_ / "run/metrics.jsonl");
  std::filesystem::remove(here_ / "run/metrics.jsonl");
  std::filesystem::create_directory(here_ / "run/metrics.jsonl");
  EXPECT_NE(here_.run({"resume", "run", "--latest-good"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(here_ / kNewest)) << "the next resume would go on from an older one without a word";
  std::filesystem::remove(here_ / "run/metrics.jsonl");
  here_.write("run/metrics.jsonl", metrics);
  const Outcome resumed = here_.run({"resume", "run", "--latest-good"});
  EXPECT_TRUE(contains(resumed.err, "renamed to ")) << resumed.err;
}

TEST_F(DamagedCheckpointTest, OnesOfAnotherNameAreNotTakenForThatStep) {
  const std::string copy = "run/checkpoints/step-000000099.h5";
  std::filesystem::copy_file(here_ / kNewest, here_ / copy);
  const Outcome refused = here_.run({"resume", "run"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, copy + " holds step 8") && contains(refused.err, "rename it to step-000000008.h5")) << refused.err;
  const Outcome resumed = here_.run({"resume", "run", "--latest-good"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(here_.run({"inspect", copy + ".aside"}).code, 0) << "the file itself is good";
}

}  // namespace
}  // namespace dikkat::testing
