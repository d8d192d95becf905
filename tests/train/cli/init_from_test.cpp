#include "tests/train/cli/workspace.h"

// Fine-tuning: a run that starts from another run's checkpoint.
namespace dikkat::testing {
namespace {

/// tiny.toml without [model] and [tokenizer].
constexpr const char* kTune = R"([data]
corpus = ["new.txt"]
validation = ["held-out.txt"]
[optim]
learning_rate = 1e-3
warmup_steps = 0
[train]
batch_size = 5
max_steps = 4
eval_interval = 2
)";

class InitFrom : public ::testing::Test {
 protected:
  InitFrom() {
    here.write("tune.toml", kTune);
    here.write("new.txt", tiny_text(400).substr(3));
    here.write("held-out.txt", tiny_text(150));
    here.train("first", {"tokenizer.kind=char", "model.n_hidden=40", "model.vocab_size=32"});
  }

  Outcome tune(const std::string& out, const Words& more = {}) const {
    Words arguments = {"train", "--config", "tune.toml", "--init-from", "first", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return here.run(arguments);
  }
  void expect_refused(const Words& more, const Words& fragments) const {
    Words arguments = {"train", "--config", "tune.toml", "--init-from", "first", "--out", "no"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    testing::expect_refused(here, arguments, fragments);
  }

  Workspace here;
};

TEST_F(InitFrom, AdoptsModelAndTokenizerAndBeginsWithTheLossOfItsSource) {
  const Outcome tuned = tune("tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {(here / "first").string(), " 0/4 "});
  const std::string config = contents(here / "tuned/config.toml");
  for (const std::string line : {"n_layer = 2\n", "n_embd = 16\n", "n_hidden = 40\n", "vocab_size = 32\n", "dropout = 0.1\n",
                                 "kind = \"char\"\n", "batch_size = 5\n"}) {
    EXPECT_TRUE(contains(config, line)) << line << " is not in\n" << config;
  }
  EXPECT_TRUE(contains(config, "init_from = \"" + (here / "first").string() + "\"\n")) << config;

  const Json first = here.metrics("tuned").front();
  EXPECT_EQ(first["event"], "eval");
  EXPECT_EQ(first["step"], 0);
  const Outcome source = here.run({"eval", "first", "--corpus", "held-out.txt", "--json"});
  EXPECT_EQ(first["val_loss"], Json::parse(source.out)["loss"]);
  expect_named(Json::parse(here.run({"inspect", "tuned", "--json"}).out)["state"].dump(), {(here / "first").string()});
}

TEST_F(InitFrom, StartsFromTheBestCheckpoint) {
  here.write("first/checkpoints/best", "step-000000018.h5\n");
  const Outcome tuned = tune("tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"step 18", "step 20", "first/checkpoints/step-000000020.h5"});
  const Outcome best = here.run({"eval", "first/checkpoints/step-000000018.h5", "--corpus", "held-out.txt", "--json"});
  EXPECT_EQ(here.metrics("tuned").front()["val_loss"], Json::parse(best.out)["loss"]);
}

TEST_F(InitFrom, TakesTheSameValuesWrittenOutAndAnotherDropout) {
  const Outcome same =
      tune("same", {"--set", "model.n_layer=2", "model.n_embd=16", "model.n_hidden=40", "tokenizer.kind=char", "tokenizer.path=first"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(tune("plain").code, 0);
  EXPECT_EQ(here.metrics("same").front()["val_loss"], here.metrics("plain").front()["val_loss"]);
  const Outcome other = tune("other", {"--set", "model.dropout=0.25"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(contains(contents(here / "other/config.toml"), "dropout = 0.25\n"));
}

TEST_F(InitFrom, RefusesKeysThatContradictItsSource) {
  expect_refused({"--set", "model.n_head=1"}, {"model.n_head", " 1 ", " 2", "first/checkpoints/step-000000020.h5"});
  expect_refused({"--set", "model.n_embd=32", "model.bias=false"}, {"model.n_embd", " 32 ", " 16", "model.bias", "false", "true"});
  expect_refused({"--set", "tokenizer.kind=byte"}, {"tokenizer.kind", "\"byte\"", "\"char\""});
  expect_refused({"--set", "model.vocab_size=64"}, {"model.vocab_size", " 64 ", " 32"});
  here.train("other", {"tokenizer.kind=char", "data.corpus=held-out.txt", "data.val_fraction=0.2", "model.block_size=8"});
  expect_refused({"--set", "model.n_hidden=64"}, {"model.n_hidden", " 64 ", " 40"});
  here.write("tune.toml", std::string(kTune) + "[model]\nn_layer = 12\n");  // also if the value is the default
  expect_refused({}, {"model.n_layer", " 12 ", " 2"});
}

TEST_F(InitFrom, RefusesAnotherTokenizer) {
  here.write("letters.txt", "abcdefghijklmnopqrstuvwxyz\n");
  ASSERT_EQ(here.run({"train", "--config", "tiny.toml", "--corpus", "text.txt", "letters.txt", "--out", "letters", "--set",
                      "tokenizer.kind=char"})
                .code,
            0);
  expect_refused({"--set", "tokenizer.path=letters"}, {"tokenizer.path", "\"letters\"", " 29 ", " 20 "});
  here.write("new.txt", tiny_text(300) + "X");
  expect_refused({}, {"/new.txt", "byte ", "U+0058"});
}

TEST_F(InitFrom, RefusesFilesThatAreNotCheckpoints) {
  expect_refused({"--init-from", "text.txt"}, {"--init-from", "dikkat train --help"});
  here.write("bad.toml", std::string(kTune) + "init_from = \"nowhere\"\n");
  testing::expect_refused(here, {"train", "--config", "bad.toml", "--out", "no"}, {"nowhere"});
}

TEST_F(InitFrom, ARunIsResumedToTheSameBitsWithoutItsSource) {
  ASSERT_EQ(tune("whole").code, 0);
  ASSERT_EQ(tune("parts", {"--set", "train.max_steps=2", "optim.decay_steps=4"}).code, 0);
  std::filesystem::rename(here / "first", here / "gone");
  const Outcome resumed = here.run({"resume", "parts", "--set", "train.max_steps=4"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::vector<Json> whole = here.timeless_metrics("whole"), parts = here.timeless_metrics("parts");
  EXPECT_EQ(whole.back(), parts.back());
  EXPECT_EQ(whole.size(), parts.size());
}

TEST_F(InitFrom, ItsConfigurationRepeatsTheRun) {
  ASSERT_EQ(tune("tuned").code, 0);
  const Outcome again = here.run({"train", "--config", "tuned/config.toml", "--out", "again"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(here.checkpoint("again", 4), here.checkpoint("tuned", 4));
  const Outcome plan = here.run({"plan", "--config", "tune.toml", "--init-from", "first"});
  EXPECT_EQ(plan.code, 0) << plan.err;
}

}  // namespace
}  // namespace dikkat::testing
