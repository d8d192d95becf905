#include <regex>

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
  expect_named(trained.err, {"lora.dropout", "lora.alpha", "lora.rank", "chat.loss"});
  EXPECT_FALSE(contains(trained.err, "optim.min_lr")) << "the schedule falls to it: " << trained.err;
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=3", "optim.sgd_momentum=0.5"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_named(resumed.err, {"optim.sgd_momentum", "optim.kind", "\"sgd\""});
  const Outcome planned = here.run(with_settings({"plan", "--config", "tiny.toml"}, {"data.text_field=body"}));
  expect_named(planned.err, {"data.text_field", ".jsonl"});
}

TEST(Effect, AKeyOfAFileLikewiseUnlessItIsAtItsDefault) {
  const Workspace here;
  const Outcome made = here.run({"config", "init", "all.toml", "--config", "tiny.toml"});
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome quiet = here.run(with_settings({"train", "--config", "all.toml", "--out", "quiet"}));
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  const std::regex key("\\b(model|tokenizer|data|chat|optim|lora|train)\\.[a-z]+_?[a-z]+\\b");
  EXPECT_FALSE(std::regex_search(quiet.err, key)) << quiet.err;
  here.write("mine.toml", std::string(kTinyConfig) + "[lora]\ndropout = 0.1\n");
  const Outcome told = here.run(with_settings({"train", "--config", "mine.toml", "--out", "told"}));
  expect_named(told.err, {"lora.dropout", "lora.rank"});
  EXPECT_EQ(here.checkpoint("quiet", 2).size() > 0, true);
}

TEST(Effect, ASweepReportsCombinationsThatAreEqual) {
  const Workspace here;
  const Outcome some = here.run(with_settings(
      {"sweep", "--config", "tiny.toml", "--vary", "optim.kind=adamw,sgd", "optim.sgd_momentum=0.5,0.9", "--no-halving", "--out", "out"}));
  EXPECT_EQ(some.code, 0) << some.err;
  const auto lines_of = [&](const std::string& combination) { return lines_with(some.err, combination).size(); };
  EXPECT_EQ(lines_of("optim.kind=adamw,optim.sgd_momentum=0.9"), lines_of("optim.kind=sgd,optim.sgd_momentum=0.9") + 1) << some.err;
}

TEST(Effect, ASweepWarnsIfHalvingMisjudges) {
  const Workspace here;
  const auto sweep = [&](const std::string& vary, const Words& rest) {
    Words words = {"sweep", "--config", "tiny.toml", "--vary", vary, "--out", "out"};
    words.insert(words.end(), rest.begin(), rest.end());
    const Outcome outcome = here.run(with_settings(words, {"train.max_steps=4"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::filesystem::remove_all(here / "out");
    return outcome.err;
  };
  EXPECT_TRUE(contains(sweep("model.dropout=0,0.1,0.2", {}), "--no-halving"));
  EXPECT_FALSE(contains(sweep("model.dropout=0,0.1,0.2", {"--no-halving"}), "--no-halving"));
  EXPECT_FALSE(contains(sweep("optim.learning_rate=1e-3,1e-2,1e-1", {}), "--no-halving"));
}

TEST(Effect, AnEnvironmentVariableThatIsNotReadIsNamed) {
  const Workspace here;
  const Outcome bogus = here.run({"config", "keys"}, {.environment = {{"DIKKAT_ISA", "bogus"}}});
  EXPECT_EQ(bogus.code, 2);
  expect_named(bogus.err, {"DIKKAT_ISA", "\"bogus\""});
  EXPECT_EQ(here.run({"config", "keys"}, {.environment = {{"DIKKAT_BF16", "widen"}}}).err, "");
  const Outcome no_way = here.run({"config", "keys"}, {.environment = {{"DIKKAT_BF16", "wide"}}});
  EXPECT_EQ(no_way.code, 2);
  expect_named(no_way.err, {"DIKKAT_BF16", "\"wide\""});
  const Outcome misspelled =
      here.run({"config", "keys"}, {.environment = {{"DIKKAT_CACHE_GIB", "3"}, {"DIKKAT_NOTES", "finished"}, {"DIKKAT_ISA", ""}}});
  EXPECT_EQ(misspelled.code, 0);
  expect_named(misspelled.err, {"DIKKAT_CACHE_GIB", "DIKKAT_CACHE_GB"});
  EXPECT_FALSE(contains(misspelled.err, "DIKKAT_NOTES") || contains(misspelled.err, "DIKKAT_ISA")) << misspelled.err;
}

}  // namespace
}  // namespace dikkat::testing
