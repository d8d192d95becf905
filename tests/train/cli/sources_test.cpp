#include "tests/train/cli/workspace.h"

// Several texts in one run: told apart while it trains, by eval, by the exports of its metrics, and by finetune's short forms.
namespace dikkat::testing {
namespace {

constexpr const char* kMixed = R"([model]
n_layer = 1
n_head = 2
n_embd = 16
block_size = 16
[train]
batch_size = 4
max_steps = 6
eval_interval = 3
checkpoint_interval = 3
[[data.sources]]
name = "lamps"
corpus = ["lamps.txt"]
weight = 3
[[data.sources]]
name = "days, or \"nights\""
corpus = ["days.txt"]
[[data.evaluations]]
name = "apart"
corpus = ["apart.txt"]
)";
constexpr const char* kSecond = "days, or \"nights\"";

class MixedSources : public ::testing::Test {
 protected:
  MixedSources() {
    here.write("lamps.txt", tiny_text(1500));
    here.write("days.txt", tiny_text(1100).substr(5));
    here.write("apart.txt", tiny_text(400).substr(7));
    here.write("mixed.toml", kMixed);
  }

  Workspace here;
};

TEST_F(MixedSources, AreToldApartAndTogether) {
  const Outcome trained = here.run({"train", "--config", "mixed.toml", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "lamps.txt, 0.75 of all windows; ")) << trained.err;
  EXPECT_TRUE(contains(trained.err, "evaluates apart: ")) << trained.err;
  EXPECT_TRUE(contains(trained.err, " (epoch ")) << trained.err;
  const Json last = here.metrics("run").back()["losses"];
  ASSERT_EQ(last.size(), 3U);
  EXPECT_EQ(last[1]["name"], kSecond);
  EXPECT_TRUE(last[1].contains("epochs"));
  EXPECT_FALSE(last[2].contains("epochs"));

  const Outcome evaluated = here.run({"eval", "run", "--newest", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Json result = Json::parse(evaluated.out);
  const double first = result["losses"]["lamps"]["loss"], second = result["losses"][kSecond]["loss"];
  EXPECT_DOUBLE_EQ(result["loss"].get<double>(), 0.75 * first + 0.25 * second);
  const Outcome shown = here.run({"eval", "run", "--newest"});
  EXPECT_TRUE(contains(shown.out, "loss of lamps")) << shown.out;

  ASSERT_EQ(here.run({"export-metrics", "run", "--csv", "table.csv"}).code, 0);
  const std::string table = contents(here / "table.csv");
  EXPECT_TRUE(contains(table, "time,\"loss of lamps\",\"loss of days, or \"\"nights\"\"\",\"loss of apart\"\r\n")) << table;
  const Outcome report = here.run({"report", "run", "--out", "report.html"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(contains(contents(here / "report.html"), "\"texts\":[{\"name\":\"lamps\",\"step\":[3,6]")) << "the page draws them";

  // It goes on, and says what it goes on with.
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=9"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(MixedSources, FinetuneMixesOldTextsIn) {
  here.train("base", {"tokenizer.kind=char", "model.n_embd=32"});
  const Outcome tuned =
      here.run({"finetune", "base", "--data", "days.txt", "--replay", "lamps.txt", "--replay-share", "0.25", "--evaluate", "old=apart.txt",
                "--out", "tuned", "--set", "train.max_steps=2", "train.eval_interval=1", "train.batch_size=2"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_TRUE(contains(tuned.err, "days.txt, 0.75 of all windows")) << tuned.err;
  EXPECT_TRUE(contains(tuned.err, "lamps.txt, 0.25 of all windows")) << tuned.err;
  const Json losses = here.metrics("tuned").back()["losses"];
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[2]["name"], "old");
  EXPECT_EQ(here.run({"sample", "tuned", "--prompt", "the ", "--max-new-tokens", "3"}).code, 0);
}

TEST_F(MixedSources, WrongWordsAreRefused) {
  const auto refusal = [&](const Words& words) {
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_TRUE(contains(refusal({"train", "--config", "mixed.toml", "--corpus", "days.txt"}),
                       "data.sources is given beside data.corpus (--corpus)"));
  EXPECT_TRUE(contains(refusal({"train", "--config", "mixed.toml", "--evaluate", "apart.txt"}), "expected NAME=PATH"));
  EXPECT_TRUE(
      contains(refusal({"train", "--config", "mixed.toml", "--set", "data.sources=[]"}), "give it in the file, as [[data.sources]]"));
  here.train("base", {"tokenizer.kind=char"});
  EXPECT_TRUE(contains(refusal({"finetune", "base"}), "--data was not given"));
  EXPECT_TRUE(contains(refusal({"finetune", "base", "--config", "mixed.toml", "--data", "days.txt", "--replay", "lamps.txt"}),
                       "data.sources says what is mixed already"));
  here.write("mixed.toml", std::string(kMixed) + "[[data.sources]]\nname = \"gone\"\ncorpus = [\"gone.txt\"]\n");
  EXPECT_TRUE(contains(refusal({"train", "--config", "mixed.toml"}), "gone.txt"));
}

}  // namespace
}  // namespace dikkat::testing
