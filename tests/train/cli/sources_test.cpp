#include "tests/train/cli/page_data.h"
#include "tests/train/cli/workspace.h"

// Several texts in one run, as shown during training, by eval, by the exports of its metrics, and by finetune's short forms.
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

TEST_F(MixedSources, AreReportedSeparatelyAndTogether) {
  const Outcome trained = here.run({"train", "--config", "mixed.toml", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json last = here.metrics("run").back()["losses"];
  ASSERT_EQ(last.size(), 3U);
  expect_named(trained.err, {"lamps.txt", "0.75", "apart.txt", "epoch " + fixed(last[0]["epochs"], 2)});
  EXPECT_EQ(last[1]["name"], kSecond);
  EXPECT_TRUE(last[1].contains("epochs"));
  EXPECT_FALSE(last[2].contains("epochs"));

  const Outcome evaluated = here.run({"eval", "run", "--newest", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Json result = Json::parse(evaluated.out);
  const double first = result["losses"]["lamps"]["loss"], second = result["losses"][kSecond]["loss"];
  EXPECT_DOUBLE_EQ(result["loss"].get<double>(), 0.75 * first + 0.25 * second);
  const Outcome shown = here.run({"eval", "run", "--newest"});
  expect_named(shown.out, {"lamps", fixed(first, 4)});

  // The page of an evaluation has a text for each source, and names its files.
  ASSERT_EQ(here.run({"eval", "run", "--newest", "--html", "eval.html"}).code, 0);
  const Json texts = data_of_page(contents(here / "eval.html"))["texts"];
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_TRUE(contains(texts[0]["name"], "lamps.txt")) << texts[0]["name"];
  EXPECT_TRUE(contains(texts[1]["name"], "days.txt")) << texts[1]["name"];

  ASSERT_EQ(here.run({"export-metrics", "run", "--csv", "table.csv"}).code, 0);
  const std::string table = contents(here / "table.csv");
  EXPECT_TRUE(contains(table, "time,\"loss of lamps\",\"loss of days, or \"\"nights\"\"\",\"loss of apart\"\r\n")) << table;
  const Outcome report = here.run({"report", "run", "--out", "report.html"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(contains(contents(here / "report.html"), "\"texts\":[{\"name\":\"lamps\",\"step\":[3,6]")) << "the page draws them";

  // A resume continues with both texts.
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=9"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(MixedSources, EpochsAreThoseOfTheFirst) {
  const Outcome trained =
      here.run({"train", "--config", "mixed.toml", "--epochs", "2", "--out", "run", "--set", "train.eval_interval=1000"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::size_t line = trained.err.find("lamps.txt, 0.75 of all windows"), end = trained.err.find(" epochs", line);
  ASSERT_NE(end, std::string::npos) << trained.err;
  EXPECT_NEAR(std::stod(trained.err.substr(trained.err.rfind(' ', end - 1))), 2, 0.02) << trained.err;
}

TEST_F(MixedSources, FinetuneMixesOldTextsIn) {
  here.train("base", {"tokenizer.kind=char", "model.n_embd=32"});
  const Outcome tuned =
      here.run({"finetune", "base", "--data", "days.txt", "--replay", "lamps.txt", "--replay-share", "0.25", "--evaluate", "old=apart.txt",
                "--out", "tuned", "--set", "train.max_steps=2", "train.eval_interval=1", "train.batch_size=2"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"days.txt, 0.75", "lamps.txt, 0.25"});
  const Json losses = here.metrics("tuned").back()["losses"];
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[2]["name"], "old");
  EXPECT_EQ(here.run({"sample", "tuned", "--prompt", "the ", "--max-new-tokens", "3"}).code, 0);
  expect_refused(here, {"finetune", "base", "--data", "days.txt", "--replay-share", "0.25", "--out", "no"},
                 {"--replay-share", "--replay "});
}

}  // namespace
}  // namespace dikkat::testing
