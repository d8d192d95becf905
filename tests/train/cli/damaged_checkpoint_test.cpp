#include "tests/train/cli/workspace.h"

// No command continues from a checkpoint that differs from the saved one.
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

  /// Expects that every command refuses this newest checkpoint, and that the reason that `verify` prints names these fragments.
  void expect_refused(const std::string& bytes, const Words& fragments) {
    here_.write(kNewest, bytes);
    const auto before = here_.tree();
    std::string reason = here_.run({"verify", kNewest}).err;
    reason = reason.substr(0, reason.find('\n'));
    expect_named(reason, {"dikkat: " + kNewest});
    expect_named(reason, fragments);
    for (const char* command : {"resume", "eval", "sample", "inspect", "verify"}) {
      for (const std::string& source : {std::string("run"), kNewest}) {
        if (command == std::string("resume") && source == kNewest) {
          continue;  // needs a folder
        }
        const Outcome outcome = here_.run({command, source});
        EXPECT_EQ(outcome.code, 2) << command << ' ' << source;
        EXPECT_TRUE(outcome.out == "" || command == std::string("verify")) << outcome.out;
        EXPECT_FALSE(contains(outcome.out, kNewest)) << outcome.out;
        EXPECT_TRUE(outcome.err.starts_with(reason)) << command << ' ' << source << ": " << outcome.err;
      }
    }
    EXPECT_TRUE(here_.tree() == before) << "something was written";
  }

  /// Formats 186431 as 186,431.
  static std::string grouped(std::size_t bytes) {
    const std::string digits = std::to_string(bytes);
    return digits.substr(0, digits.size() - 3) + ',' + digits.substr(digits.size() - 3);
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
  expect_refused("", {});
  expect_refused(good_.substr(0, 1000), {"1,000", "4,096"});
  expect_refused(good_.substr(0, good_.size() - 1), {grouped(good_.size() - 1), grouped(good_.size())});
}

TEST_F(DamagedCheckpointTest, AlteredOnes) {
  expect_refused(flipped(5000), {});
  expect_refused(flipped(good_.size() - 1), {});
  expect_refused(good_ + "x", {grouped(good_.size() + 1), grouped(good_.size())});
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
  expect_refused(good_.substr(4096), {"HDF5"});
  expect_refused(tiny_text(2000), {"checkpoints/step-"});
}

TEST_F(DamagedCheckpointTest, AnOlderOneIsTakenOnlyWhenAskedFor) {
  here_.write(kNewest, flipped(5000));
  testing::expect_refused(here_, {"resume", "run"}, {kNewest, "step-000000004.h5", "--latest-good"});
  EXPECT_EQ(here_.run({"eval", kOlder}).code, 0);

  const Outcome resumed = here_.run({"resume", "run", "--latest-good", "--set", "train.max_steps=8"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_named(resumed.err, {kNewest, kNewest + ".aside", "step 4 "});
  EXPECT_EQ(here_.log("run").back()["event"], "finish");
  EXPECT_TRUE(std::filesystem::exists(here_ / (kNewest + ".aside"))) << "the damaged one is kept, out of the way";
  EXPECT_EQ(here_.run({"verify", "run"}).code, 0);
}

// Every command treats an unreadable checkpoint alike: it may be on a disk that is not mounted, so it is not damaged.
TEST_F(DamagedCheckpointTest, OneThatCannotBeReadIsNotPassedOver) {
  std::filesystem::remove(here_ / kNewest);
  std::filesystem::create_symlink("/not/mounted", here_ / kNewest);
  for (const Words& arguments : {Words{"resume", "run"}, Words{"resume", "run", "--latest-good"}, Words{"eval", "run", "--newest"}}) {
    const std::string message = testing::expect_refused(here_, arguments, {kNewest, "/not/mounted"});
    EXPECT_FALSE(contains(message, "--latest-good")) << message;
  }
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
  EXPECT_TRUE(std::filesystem::exists(here_ / kNewest)) << "the next resume would silently continue from an older one";
  std::filesystem::remove(here_ / "run/metrics.jsonl");
  here_.write("run/metrics.jsonl", metrics);
  const Outcome resumed = here_.run({"resume", "run", "--latest-good"});
  expect_named(resumed.err, {kNewest + ".aside"});
}

TEST_F(DamagedCheckpointTest, OnesOfAnotherNameAreNotTakenForThatStep) {
  const std::string copy = "run/checkpoints/step-000000099.h5";
  std::filesystem::copy_file(here_ / kNewest, here_ / copy);
  testing::expect_refused(here_, {"resume", "run"}, {copy, "step 8", "step-000000008.h5"});
  const Outcome resumed = here_.run({"resume", "run", "--latest-good"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(here_.run({"inspect", copy + ".aside"}).code, 0) << "the file itself is good";
}

}  // namespace
}  // namespace dikkat::testing
