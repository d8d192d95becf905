#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

TEST(KillSlow, ARunSurvivesTwentyKillsAtAnyMoment) {
  const Workspace here;
  const Words settings = {"train.max_steps=400", "train.checkpoint_interval=3", "train.eval_interval=7"};
  here.train("whole", settings);
  Words arguments = {"train", "--config", "tiny.toml", "--out", "run", "--set"};
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  long lines = 20;
  for (int kill = 0; kill < 20; ++kill) {
    Program program(here.here(arguments));
    ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= lines; })) << kill;
    std::this_thread::sleep_for(std::chrono::microseconds(700 * kill));  // in a step, a save or an evaluation
    program.send(SIGKILL);
    ASSERT_EQ(program.wait().code, -SIGKILL) << "the run was to be longer";
    ASSERT_EQ(here.run({"verify", "run"}).code, 0);
    arguments = {"resume", "run"};
    lines = here.metric_lines("run") + 2;
  }
  const Outcome resumed = here.run({"resume", "run"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(here.checkpoint("run", 400) == here.checkpoint("whole", 400));
  EXPECT_EQ(here.timeless_metrics("run"), here.timeless_metrics("whole"));
}

}  // namespace
}  // namespace dikkat::testing
