#include <cstdlib>
#include <filesystem>

#include "autograd/base/error.h"
#include "tests/train/cli/workspace.h"

// Fine-tuning on pairs of answers and on judged answers.
namespace dikkat::testing {
namespace {

class Tuning : public ::testing::Test {
 protected:
  Tuning() {
    std::string pairs, judged;
    for (int i = 0; i < 24; ++i) {
      const std::string prompt = i % 2 == 0 ? "the lamp" : "ships";
      pairs += Json{{"prompt", prompt}, {"chosen", "go by"}, {"rejected", i % 3 == 0 ? "at night" : "turns"}, {"id", i}}.dump() + "\n";
      judged += Json{{"prompt", {{{"role", "user"}, {"content", concat(prompt, ' ', i)}}}},
                     {"completion", {{{"role", "assistant"}, {"content", i % 3 == 0 ? "turns" : "go by"}}}},
                     {"label", i % 3 != 0},
                     {"time", "2026-03-09T12:00:00Z"}}
                    .dump() +
                "\n";
    }
    here.write("pairs.jsonl", pairs);
    here.write("judged.jsonl", judged);
    here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=96"});
  }
  Outcome tune(const std::string& data, const std::string& out, const Words& more = {}) const {
    Words words = {"finetune", "base", "--data", data, "--out", out, "--set", "data.val_fraction=0.25", "optim.warmup_steps=0"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  }
  bool config_has(const std::string& run, const std::string& line) const { return contains(contents(here / run / "config.toml"), line); }

  Workspace here;
};

TEST_F(Tuning, RecognizesPairs) {
  const Outcome tuned = tune("pairs.jsonl", "tuned", {"optim.learning_rate=5e-3", "train.max_steps=12", "train.eval_interval=6"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"dpo", "preference.method", "18 pairs", "\"id\"", "accuracy", "margin"});
  EXPECT_TRUE(config_has("tuned", "method = \"dpo\""));
  EXPECT_TRUE(std::filesystem::exists(here / "tuned/reference.json"));
  const auto metrics = here.metrics("tuned");
  const auto first = std::ranges::find(metrics, "step", [](const Json& line) { return line["event"]; });
  ASSERT_NE(first, metrics.end());
  EXPECT_NEAR((*first)["loss"].get<double>(), 0.6931471805599453, 1e-12);
  EXPECT_EQ((*first)["rewards_margin"], 0);
  EXPECT_EQ((*first)["rewards_accuracy"], 0.5);
  EXPECT_GT(metrics.back()["rewards_margin"], 0);
  EXPECT_GT(metrics.back()["rewards_accuracy"], 0.9);
  EXPECT_LT(metrics.back()["logps_chosen"], 0);
  // The run is an ordinary one.
  EXPECT_EQ(here.run({"report", "tuned"}).code, 0);
  expect_refused(here, {"eval", "tuned"}, {"tuned", "--corpus"});
  here.write("chats.jsonl", R"({"prompt": "ships", "completion": "go by"})");
  EXPECT_EQ(here.run({"eval", "tuned", "--corpus", "chats.jsonl"}).code, 0);
  EXPECT_EQ(here.run({"merge", "tuned", "--out", "merged"}).code, 0);
  EXPECT_EQ(here.run({"resume", "tuned", "--set", "train.max_steps=14"}).code, 0);
  EXPECT_EQ(here.run({"runs", "rm", "tuned", "--yes"}).code, 0) << "reference.json is part of a run";
}

TEST_F(Tuning, RecognizesJudgedAnswersUnlessToldOtherwise) {
  const Outcome tuned = tune("judged.jsonl", "tuned", {"train.max_steps=2", "--full"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"kto", "12 good", "6 bad", "preference.bad_weight"});
  EXPECT_TRUE(config_has("tuned", "method = \"kto\""));
  EXPECT_TRUE(config_has("tuned", "learning_rate = 1e-06") || config_has("tuned", "learning_rate = 0.000001") ||
              config_has("tuned", "learning_rate = 1e-6"));
  const Outcome ordinary = tune("judged.jsonl", "ordinary", {"train.max_steps=2", "preference.method=none"});
  EXPECT_EQ(ordinary.code, 2) << "lists of messages are no prompt of an ordinary example";
  expect_named(ordinary.err, {"judged.jsonl", "line 1", "preference.method", "kto"});
  here.write("texts.jsonl", R"({"prompt": "ships", "completion": "bad", "label": false}
{"prompt": "ships", "completion": "go by", "label": true}
)");
  const Outcome good = tune("texts.jsonl", "good", {"train.max_steps=1", "preference.method=none", "data.val_fraction=0"});
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_FALSE(contains(contents(here / "good/metrics.jsonl"), "rewards_accuracy"));
}

TEST_F(Tuning, RefusesWhatItCannotMix) {
  expect_refused(here, {"finetune", "base", "--data", "pairs.jsonl", "--replay", "text.txt", "--out", "no"},
                 {"preference.method", "--replay"});
  expect_refused(here, {"train", "--init-from", "base", "--corpus", "pairs.jsonl", "--out", "no"},
                 {"pairs.jsonl", "line 1", "chosen", "preference.method"});
  here.write("bad.jsonl", contents(here / "pairs.jsonl") + "{\"prompt\": \"x\", \"chosen\": \"y\"}\n");
  expect_refused(here, {"finetune", "base", "--data", "bad.jsonl", "--out", "no"}, {"bad.jsonl", "line 25", "rejected"});
}

/// A server that is killed leaves half a line at the end of its ratings, and a download that ends early leaves one of any file.
TEST_F(Tuning, RefusesALastLineThatIsCut) {
  for (const std::string file : {"pairs.jsonl", "judged.jsonl"}) {
    const std::string all = contents(here / file);
    const std::size_t last = all.rfind('\n', all.size() - 2) + 1;
    here.write("cut.jsonl", all.substr(0, last + (all.size() - last) / 2));
    expect_refused(here, {"finetune", "base", "--data", "cut.jsonl", "--out", "no"}, {"cut.jsonl", "line 24"});
    EXPECT_FALSE(std::filesystem::exists(here / "no"));
    // Without the half, and without a line break at the end, the others are read.
    here.write("cut.jsonl", all.substr(0, last - 1));
    EXPECT_EQ(tune("cut.jsonl", "tuned-" + file, {"train.max_steps=1"}).code, 0);
  }
}

TEST_F(Tuning, ReadsCompressedFiles) {
  ASSERT_EQ(tune("pairs.jsonl", "plain", {"train.max_steps=2"}).code, 0);
  for (const std::string program : {"gzip", "zstd"}) {
    const std::string ending = program == "gzip" ? ".gz" : ".zst";
    ASSERT_EQ(std::system(concat(program, " -kqf ", (here / "pairs.jsonl").string()).c_str()), 0);
    const Outcome tuned = tune("pairs.jsonl" + ending, "tuned" + ending, {"train.max_steps=2"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_EQ(here.timeless_metrics("tuned" + ending), here.timeless_metrics("plain"));
    EXPECT_EQ(contents(here / ("tuned" + ending) / "reference.json"), contents(here / "plain/reference.json"));
  }
}

TEST_F(Tuning, IsPlanned) {
  const auto memory = [&](const Words& more) {
    Words words = {"plan", "--init-from", "base", "--corpus", "pairs.jsonl", "--json", "--set", "train.batch_size=2"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome planned = here.run(words);
    EXPECT_EQ(planned.code, 0) << planned.err;
    return planned.code == 0 ? Json::parse(planned.out) : Json();
  };
  const Json full = memory({"preference.method=dpo"}), adapters = memory({"preference.method=dpo", "lora.rank=2"});
  EXPECT_EQ(full["trial"]["steps"], 3);
  EXPECT_GT(full["trial"]["tokens_per_s"], 0);
  EXPECT_GT(full["memory"]["gradients"], adapters["memory"]["gradients"]);
  EXPECT_GT(full["disk"]["checkpoint"], adapters["disk"]["checkpoint"]);
  EXPECT_FALSE(std::filesystem::exists(here / "runs"));
}

TEST_F(Tuning, IsSwept) {
  const Outcome swept =
      here.run({"sweep", "--corpus", "pairs.jsonl", "--vary", "preference.beta=0.05,0.5", "--no-halving", "--out", "swept", "--json",
                "--set", "train.init_from=base", "preference.method=dpo", "lora.rank=2", "optim.learning_rate=5e-3", "train.max_steps=10",
                "train.eval_interval=10", "data.val_fraction=0.25", "optim.warmup_steps=0", "train.batch_size=2"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Json rows = Json::parse(swept.out)["combinations"];
  ASSERT_EQ(rows.size(), 2U);
  for (const Json& row : rows) {
    EXPECT_EQ(row["state"], "finished") << row;
    EXPECT_GE(row["rewards_accuracy"], 0.5);
  }
  EXPECT_NE(rows[0]["val_loss"], rows[1]["val_loss"]);
  EXPECT_GE(rows[0]["rewards_accuracy"], rows[1]["rewards_accuracy"]);
  expect_refused(here,
                 {"sweep", "--corpus", "pairs.jsonl", "--vary", "preference.method=dpo,simpo", "--out", "no", "--set",
                  "train.init_from=base", "train.max_steps=2", "data.val_fraction=0.25"},
                 {"preference.method=dpo", "preference.method=simpo"});
  const Outcome again = here.run({"sweep", "--resume", "swept"});
  EXPECT_EQ(again.code, 0) << again.err;
  expect_named(again.out, {"accuracy", "preference.beta=0.5"});
}

}  // namespace
}  // namespace dikkat::testing
