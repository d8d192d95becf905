#include "tests/train/cli/workspace.h"

// The program reports settings that have no effect.
namespace dikkat::testing {
namespace {

const Words kShort = {"train.max_steps=2", "train.eval_tokens=48", "optim.warmup_steps=0"};

Words with_settings(Words words, const Words& more = {}) {
  words.emplace_back("--set");
  words.insert(words.end(), kShort.begin(), kShort.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Effect, AKeyOfSetThatDoesNotCountIsNamedWithItsCondition) {
  const Workspace here;
  const Outcome trained = here.run(with_settings({"train", "--config", "tiny.toml", "--out", "run"},
                                                 {"lora.dropout=0.1", "lora.alpha=3", "chat.loss=all", "optim.min_lr=1e-5"}));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "lora.dropout and lora.alpha have no effect")) << trained.err;
  EXPECT_TRUE(contains(trained.err, "lora.rank is above 0")) << trained.err;
  EXPECT_TRUE(contains(trained.err, "chat.loss has no effect")) << trained.err;
  EXPECT_FALSE(contains(trained.err, "optim.min_lr has no")) << "the schedule falls to it: " << trained.err;
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=3", "optim.sgd_momentum=0.5"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "optim.sgd_momentum has no effect")) << resumed.err;
  const Outcome planned = here.run(with_settings({"plan", "--config", "tiny.toml"}, {"data.text_field=body"}));
  EXPECT_TRUE(contains(planned.err, "data.text_field has no effect")) << planned.err;
  EXPECT_TRUE(contains(planned.err, ".jsonl")) << planned.err;
}

TEST(Effect, AKeyOfAFileLikewiseUnlessItIsAtItsDefault) {
  const Workspace here;
  const Outcome made = here.run({"config", "init", "all.toml", "--config", "tiny.toml"});
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome quiet = here.run(with_settings({"train", "--config", "all.toml", "--out", "quiet"}));
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_FALSE(contains(quiet.err, "no effect")) << quiet.err;
  here.write("mine.toml", std::string(kTinyConfig) + "[lora]\ndropout = 0.1\n");
  const Outcome told = here.run(with_settings({"train", "--config", "mine.toml", "--out", "told"}));
  EXPECT_TRUE(contains(told.err, "lora.dropout has no effect")) << told.err;
  EXPECT_EQ(here.checkpoint("quiet", 2).size() > 0, true);
}

TEST(Effect, ASweepRefusesToVaryWhatDoesNotCount) {
  const Workspace here;
  const Outcome refused = here.run(with_settings({"sweep", "--config", "tiny.toml", "--vary", "lora.dropout=0,0.1", "--out", "out"}));
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(contains(refused.err, "lora.dropout has no effect")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(here / "out"));
  const Outcome some = here.run(with_settings(
      {"sweep", "--config", "tiny.toml", "--vary", "optim.kind=adamw,sgd", "optim.sgd_momentum=0.5,0.9", "--no-halving", "--out", "out"}));
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_TRUE(contains(some.err, "equal to another combination")) << some.err;
  EXPECT_TRUE(contains(some.err, "optim.kind=adamw,optim.sgd_momentum=0.9")) << some.err;
}

TEST(Effect, ASweepWarnsWhereHalvingMisjudges) {
  const Workspace here;
  const auto sweep = [&](const std::string& vary, const Words& rest) {
    Words words = {"sweep", "--config", "tiny.toml", "--vary", vary, "--out", "out"};
    words.insert(words.end(), rest.begin(), rest.end());
    const Outcome outcome = here.run(with_settings(words, {"train.max_steps=4"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::filesystem::remove_all(here / "out");
    return outcome.err;
  };
  const std::string warned = sweep("model.dropout=0,0.1,0.2", {});
  EXPECT_TRUE(contains(warned, "warning") && contains(warned, "model.dropout shows its effect late") && contains(warned, "--no-halving"))
      << warned;
  EXPECT_FALSE(contains(sweep("model.dropout=0,0.1,0.2", {"--no-halving"}), "late"));
  EXPECT_FALSE(contains(sweep("optim.learning_rate=1e-3,1e-2,1e-1", {}), "late"));
}

TEST(Effect, AnEnvironmentVariableThatIsNotReadIsNamed) {
  const Workspace here;
  const Outcome bogus = here.run({"config", "keys"}, {.environment = {{"DIKKAT_ISA", "bogus"}}});
  EXPECT_EQ(bogus.code, 2);
  EXPECT_TRUE(contains(bogus.err, "DIKKAT_ISA is \"bogus\"") && contains(bogus.err, "expected")) << bogus.err;
  const Outcome misspelt =
      here.run({"config", "keys"}, {.environment = {{"DIKKAT_CACHE_GIB", "3"}, {"DIKKAT_NOTES", "finished"}, {"DIKKAT_ISA", ""}}});
  EXPECT_EQ(misspelt.code, 0);
  EXPECT_TRUE(contains(misspelt.err, "DIKKAT_CACHE_GIB; did you mean DIKKAT_CACHE_GB?")) << misspelt.err;
  EXPECT_FALSE(contains(misspelt.err, "DIKKAT_NOTES") || contains(misspelt.err, "DIKKAT_ISA")) << misspelt.err;
}

}  // namespace
}  // namespace dikkat::testing
