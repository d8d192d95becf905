#include "tests/train/cli/workspace.h"

// train.on_end: a command that calls for attention.
namespace dikkat::testing {
namespace {

const std::string kTell = "train.on_end=env | grep -E '^DIKKAT_(STATE|REASON|RUN|STEP|BEST_)' | sort > told.txt; echo heard";

TEST(OnEnd, ARunThatFinishesTellsItsBestLoss) {
  const Workspace here;
  const Outcome trained = here.train("run", {kTell, "train.max_steps=12"});
  EXPECT_EQ(trained.out, "run\n") << "results are what a script reads";
  EXPECT_TRUE(contains(trained.err, "heard\n")) << trained.err;
  const Json best = here.metrics("run").back();
  EXPECT_EQ(contents(here / "told.txt"), "DIKKAT_BEST_LOSS=" + best["val_loss"].dump() +
                                             "\nDIKKAT_BEST_STEP=12\nDIKKAT_REASON=\nDIKKAT_RUN=" + (here / "run").string() +
                                             "\nDIKKAT_STATE=finished\nDIKKAT_STEP=12\n");
}

TEST(OnEnd, ACheckpointDoesNotRunCommands) {
  const Workspace here;
  here.train("run", {kTell, "train.max_steps=4"});
  std::filesystem::remove(here / "told.txt");
  EXPECT_EQ(here.run({"resume", "run", "--set", "train.max_steps=8"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(here / "told.txt"));
  EXPECT_EQ(here.run({"resume", "run", "--set", "train.max_steps=12", kTell}).code, 0);
  EXPECT_TRUE(contains(contents(here / "told.txt"), "DIKKAT_STEP=12\n"));
  for (const std::string& kept : {here.checkpoint("run", 12), contents(here / "run/config.toml"), contents(here / "run/metrics.jsonl")}) {
    EXPECT_FALSE(contains(kept, "told.txt") && !contains(kept, "\"event\":\"resume\"")) << "a command was kept";
  }
  std::filesystem::remove(here / "told.txt");
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=16"});
  EXPECT_FALSE(std::filesystem::exists(here / "told.txt"));
  EXPECT_FALSE(contains(resumed.err, "on_end")) << resumed.err;
}

TEST(OnEnd, TheRunIsFreeWhenItRuns) {
  const Workspace here;
  const Outcome trained =
      here.train("run", {std::string("train.on_end=") + DIKKAT_PROGRAM + " runs --in . ; echo $DIKKAT_MINE", "train.max_steps=4"});
  EXPECT_TRUE(contains(trained.err, "finished")) << trained.err;
  EXPECT_FALSE(contains(trained.err, "running")) << trained.err;
}

TEST(OnEnd, ARunThatIsStoppedOrFailsTellsTheReason) {
  const Workspace here;
  Program running(here.here({"train", "--config", "tiny.toml", "--out", "stopped", "--set", "train.max_steps=100000", kTell}));
  running.until([&] { return std::filesystem::exists(here / "stopped/metrics.jsonl") && here.metric_lines("stopped") > 2; });
  running.send(SIGTERM);
  EXPECT_EQ(running.wait().code, 143);
  EXPECT_TRUE(contains(contents(here / "told.txt"), "DIKKAT_STATE=stopped\n")) << contents(here / "told.txt");

  const Outcome failed =
      here.run({"train", "--config", "tiny.toml", "--out", "failed", "--set", "optim.learning_rate=1", "optim.weight_decay=10",
                "optim.warmup_steps=0", "optim.schedule=constant", "optim.grad_clip=0", "train.max_steps=100", kTell});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(contents(here / "told.txt"), "DIKKAT_STATE=failed\n"));
  EXPECT_TRUE(contains(contents(here / "told.txt"), "DIKKAT_REASON=step ")) << contents(here / "told.txt");
}

TEST(OnEnd, ACommandThatFailsHarmsNoRun) {
  const Workspace here;
  const Outcome trained = here.train("run", {"train.on_end=exit 7", "train.max_steps=4"});
  EXPECT_TRUE(contains(trained.err, "warning   train.on_end ended with 7: exit 7")) << trained.err;
}

}  // namespace
}  // namespace dikkat::testing
