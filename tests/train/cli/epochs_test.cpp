#include "tests/train/cli/workspace.h"

// The length of a run in epochs, and the remarks about texts that a run reads many times or also evaluates.
namespace dikkat::testing {
namespace {

class Epochs : public ::testing::Test {
 protected:
  Epochs() {
    here.train("base", {"train.max_steps=1"});
    here.write("new.txt", tiny_text(300));
  }
  Outcome tune(const std::string& out, const Words& more = {}) const {
    Words words = {"finetune", "base", "--data", "new.txt", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  }
  /// The value of a key of [train] or [optim] in the run's checkpoint.
  double key(const std::string& run, const std::string& name) const {
    const std::string text = here.run({"inspect", run, "--json"}).out;
    const std::string config = Json::parse(text)["config"];
    const std::size_t at = config.find("\n" + name + " = ");
    return at == std::string::npos ? -1 : std::stod(config.substr(at + name.size() + 4));
  }
  /// How often the run reads a text of this many bytes, nine tenths of which it learns from.
  double epochs(const std::string& run, std::size_t bytes) const {
    const double windows = std::ceil((0.9 * static_cast<double>(bytes) - 1) / 24);
    return key(run, "max_steps") * key(run, "batch_size") * key(run, "gradient_accumulation_steps") / windows;
  }
  Workspace here;
};

TEST_F(Epochs, TheDefaultLengthOfAFinetuningFollowsFromItsText) {
  const Outcome small = tune("small");
  ASSERT_EQ(small.code, 0) << small.err;
  EXPECT_NEAR(epochs("small", tiny_text(300).size()), 3, 0.1) << small.err;
  EXPECT_EQ(lines_with(small.err, "--epochs").size(), 1U) << "only the length is remarked on: " << small.err;
  EXPECT_GE(key("small", "max_steps"), 100) << "by smaller steps";
  EXPECT_EQ(key("small", "batch_size") * key("small", "gradient_accumulation_steps"), 1);
  EXPECT_EQ(key("small", "warmup_steps"), std::floor(key("small", "max_steps") / 10));
  EXPECT_EQ(key("small", "eval_interval"), std::ceil(key("small", "max_steps") / 10));
  here.write("new.txt", tiny_text(30));  // a few windows
  const Outcome tiny = tune("tiny");
  EXPECT_EQ(key("tiny", "max_steps"), 50) << "so that there is something to learn from";
  EXPECT_LE(epochs("tiny", tiny_text(30).size()), 10) << tiny.err;
  here.write("new.txt", tiny_text(20));
  const Outcome tinier = tune("tinier");
  EXPECT_NEAR(epochs("tinier", tiny_text(20).size()), 10, 0.1) << "and no more: " << tinier.err;
  here.write("new.txt", tiny_text(120000));  // 4,800 windows are less than 3 epochs
  const Outcome large = here.run(
      {"--quiet", "finetune", "base", "--data", "new.txt", "--out", "large", "--set", "train.patience=0", "train.eval_tokens=100"});
  ASSERT_EQ(large.code, 0) << large.err;
  EXPECT_EQ(key("large", "max_steps"), 300);
  EXPECT_EQ(key("large", "batch_size"), 4);
  EXPECT_EQ(key("large", "warmup_steps"), 20);
}

TEST_F(Epochs, TheUsersSettingsStay) {
  const Outcome steps = tune("steps", {"--set", "train.max_steps=3", "optim.warmup_steps=1"});
  ASSERT_EQ(steps.code, 0) << steps.err;
  EXPECT_EQ(key("steps", "max_steps"), 3);
  EXPECT_EQ(key("steps", "batch_size"), 4);
  EXPECT_EQ(key("steps", "gradient_accumulation_steps"), 4);
  const Outcome batch = tune("batch", {"--epochs", "1", "--set", "train.batch_size=2", "optim.warmup_steps=2", "train.eval_interval=7"});
  ASSERT_EQ(batch.code, 0) << batch.err;
  EXPECT_EQ(key("batch", "batch_size"), 2);
  EXPECT_EQ(key("batch", "gradient_accumulation_steps"), 4);
  EXPECT_EQ(key("batch", "warmup_steps"), 2);
  EXPECT_EQ(key("batch", "eval_interval"), 7);
}

TEST_F(Epochs, MoreEpochsNeverMakeFewerUpdates) {
  ASSERT_EQ(tune("three", {"--epochs", "3"}).code, 0);
  ASSERT_EQ(tune("four", {"--epochs", "4"}).code, 0);
  EXPECT_LT(key("three", "max_steps"), 200);
  EXPECT_GT(key("four", "max_steps"), 200);
  EXPECT_EQ(key("three", "gradient_accumulation_steps"), key("four", "gradient_accumulation_steps"));
}

TEST_F(Epochs, FewUpdatesAreRemarkedOnWithTheEpochsThatMakeEnough) {
  EXPECT_FALSE(contains(tune("enough", {"--epochs", "1"}).err, "--epochs"));
  here.write("new.txt", tiny_text(20));
  const Outcome few = tune("few", {"--epochs", "3"});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_LT(key("few", "max_steps"), 20);
  expect_named(few.err, {"--epochs", "optim.learning_rate", "5e-04"});
  const std::string epochs = few.err.substr(few.err.find("--epochs ") + 9);
  ASSERT_EQ(tune("more", {"--epochs", epochs.substr(0, epochs.find(' '))}).code, 0);
  EXPECT_EQ(key("more", "max_steps"), 100);
}

TEST_F(Epochs, OfTrainReadEachWindowThatOften) {
  Words words = {"train", "--config", "tiny.toml", "--epochs", "2", "--out", "two"};
  ASSERT_EQ(here.run(words).code, 0);
  const double steps = key("two", "max_steps");
  EXPECT_EQ(key("two", "batch_size"), 5);
  words = {"train", "--config", "tiny.toml", "--out", "same", "--set", "train.max_steps=" + std::to_string(static_cast<int>(steps))};
  ASSERT_EQ(here.run(words).code, 0);
  EXPECT_EQ(here.checkpoint("two", static_cast<int>(steps)), here.checkpoint("same", static_cast<int>(steps)))
      << "the length is train.max_steps from then on";
  const double windows = std::floor((0.9 * static_cast<double>(tiny_text().size()) - 1) / 24);
  EXPECT_NEAR(steps, std::ceil(2 * windows / 15), 1);
}

TEST_F(Epochs, ARunThatReadsItsTextManyTimesReportsIt) {
  Words words = {"train", "--config", "tiny.toml", "--out", "often", "--corpus", "new.txt", "--epochs", "17"};
  expect_named(here.run(words).err, {"17", "--epochs"});
  words = {"train", "--config", "tiny.toml", "--out", "seldom", "--corpus", "new.txt", "--epochs", "4"};
  EXPECT_FALSE(contains(here.run(words).err, "--epochs"));
}

TEST_F(Epochs, EvaluationOnTheTrainingTextIsNoted) {
  here.write("copy.txt", tiny_text());
  const auto said = [&](const std::string& out, const Words& more) {
    Words words = {"train", "--config", "tiny.toml", "--out", out, "--set", "train.max_steps=1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(lines_with(said("a", {"data.validation=copy.txt"}), "/copy.txt").size(), 2U) << "the corpus, and a remark";
  EXPECT_EQ(lines_with(said("b", {"data.validation=new.txt"}), "/new.txt").size(), 1U) << "only the corpus";
  EXPECT_TRUE(contains(said("c", {"--evaluate", "again=text.txt"}), "data.evaluations"));
  EXPECT_FALSE(contains(said("d", {"--evaluate", "other=new.txt"}), "data.evaluations"));
  here.write("train.jsonl", R"({"text": "the lamp turns and ships go by at night, the lamp turns"}
{"text": "ships go by the lamp and the night turns by the lamp"}
)");
  here.write("val.jsonl", R"({"text": "ships go by the lamp and the night turns by the lamp"}
{"text": "and now for something else that was not there before"}
)");
  const Words noted = lines_with(said("e", {"data.validation=val.jsonl", "--corpus", "train.jsonl"}), "/val.jsonl");
  const auto counts = [](const std::string& line) { return contains(line, "1 ") && contains(line, " 2 "); };
  EXPECT_EQ(std::count_if(noted.begin(), noted.end(), counts), 1) << "one of two documents";
  EXPECT_TRUE(contains(here.run({"eval", "base", "--corpus", "text.txt"}).err, "--corpus"));
  EXPECT_FALSE(contains(here.run({"eval", "base", "--corpus", "new.txt"}).err, "--corpus"));
}

}  // namespace
}  // namespace dikkat::testing
