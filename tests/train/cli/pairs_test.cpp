// An encoder-decoder through the program: train, resume, eval, sample, and refused commands.
#include <gtest/gtest.h>

#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

constexpr const char* kPairsConfig = R"([model]
kind = "encoder_decoder"
n_layer = 1
n_head = 2
n_embd = 32
block_size = 12
[tokenizer]
kind = "word"
[data]
corpus = ["pairs.tsv"]
val_fraction = 0.0
[optim]
learning_rate = 1e-2
warmup_steps = 10
beta2 = 0.98
weight_decay = 0.0
[train]
batch_size = 6
max_steps = 80
checkpoint_interval = 40
)";

constexpr const char* kPairs =
    "When you play game of thrones\tyou win or you die\n"
    "when the lamp goes out\tthe ships turn home\n"
    "who keeps the lamp\ta keeper does\n"
    "when you play\tyou laugh\n"
    "who goes home\tthe ships\n"
    "the lamp\tturns\n";

class Pairs : public ::testing::Test {
 protected:
  Pairs() {
    here.write("pairs.toml", kPairsConfig);
    here.write("pairs.tsv", kPairs);
  }

  const Words train_run = {"train", "--config", "pairs.toml", "--out", "run"};

  Outcome train(const Words& more = {}) {
    Words words = train_run;
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  }

  Workspace here;
};

TEST_F(Pairs, of_several_files_are_split_over_all) {
  here.write("first.tsv", kPairs);
  const Words few = {"--corpus", "first.tsv", "--corpus", "pairs.tsv", "--set", "data.val_fraction=0.34", "train.max_steps=1"};
  const Outcome spread = train(few);
  ASSERT_EQ(spread.code, 0) << spread.err;
  expect_named(spread.err, {"for validation", "all 2 files"});
  Words at_end = few;
  at_end.insert(at_end.begin(), {"train", "--config", "pairs.toml", "--out", "end"});
  at_end.emplace_back("data.split=end");
  const Outcome end = here.run(at_end);
  ASSERT_EQ(end.code, 0) << end.err;
  const Words lines = lines_with(end.err, "for validation: ");
  ASSERT_EQ(lines.size(), 1U);
  expect_named(lines[0], {"pairs.tsv"});
  EXPECT_FALSE(contains(lines[0], "first.tsv")) << lines[0];
}

TEST_F(Pairs, train_eval_and_sample_answer_with_the_very_target) {
  const Outcome trained = train();
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {"80 ", " 6 pairs"});
  const Words question{"sample", "run", "--prompt", "When you play game of thrones"};
  EXPECT_EQ(here.run(question).out, "you win or you die\n");
  Words beam = question;
  beam.insert(beam.end(), {"--beam", "3", "--json"});
  const Json answer = Json::parse(here.run(beam).out);
  EXPECT_EQ(answer["beam"], 3);
  EXPECT_EQ(answer["samples"][0]["text"], "you win or you die");
  EXPECT_EQ(answer["samples"][0]["ended"], true);
  EXPECT_LT(answer["samples"][0]["log_probability"], 0.0);
  EXPECT_EQ(here.run({"sample", "run", "--prompt", "-"}, {.input = "who keeps the lamp\nthe lamp\n"}).out, "a keeper does\nturns\n");

  const Json eval = Json::parse(here.run({"eval", "run", "--corpus", "pairs.tsv", "--exact-match", "--json"}).out);
  EXPECT_EQ(eval["exact_match"], 1.0);
  EXPECT_EQ(eval["pairs"], 6);
  EXPECT_LT(eval["loss"], 0.1);
  EXPECT_EQ(eval["tokens"], 5 + 4 + 3 + 2 + 2 + 1 + 6);
}

TEST_F(Pairs, attention_is_shown_on_request) {
  ASSERT_EQ(train({"--set", "train.max_steps=2"}).code, 0);
  const Words question{"sample", "run", "--prompt", "the lamp turns", "--max-new-tokens", "2", "--attention"};
  const std::string table = here.run(question).out;
  EXPECT_TRUE(contains(table, "turns  <end>")) << table;
  Words as_json = question;
  as_json.emplace_back("--json");
  const Json layers = Json::parse(here.run(as_json).out)["samples"][0]["attention"];
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[2]["layer"], "decoder.h.0.crossattention");
  EXPECT_EQ(layers[2]["heads"], 2);
  EXPECT_EQ(layers[2]["keys"], 4);
}

TEST_F(Pairs, resume_continues_to_the_same_bytes) {
  ASSERT_EQ(train().code, 0);
  ASSERT_EQ(here.run({"train", "--config", "pairs.toml", "--out", "part", "--set", "train.max_steps=40", "optim.decay_steps=80"}).code, 0);
  const Outcome resumed = here.run({"resume", "part", "--set", "train.max_steps=80", "--threads", "1"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const Json whole = Json::parse(here.run({"eval", "run", "--corpus", "pairs.tsv", "--json"}).out);
  const Json part = Json::parse(here.run({"eval", "part", "--corpus", "pairs.tsv", "--json"}).out);
  EXPECT_EQ(whole["loss"], part["loss"]);
}

TEST_F(Pairs, a_line_that_is_not_a_pair_is_named) {
  const std::string file = (here / "pairs.tsv").string();
  const std::map<std::string, std::string> cases = {
      {"a\tb\nno tab\n", "line 2"},
      {"a\tb\nc\td\te\n", "line 2"},
      {"a\tb\n\nc\td\n", "line 2"},
      {"a\tb\n\td\n", "line 2"},
      {"a\tb\nc\t \n", "line 2"},
      {"a\tb\nc\t\xFF\n", "line 2"},
      {"", file},
  };
  for (const auto& [text, place] : cases) {
    here.write("pairs.tsv", text);
    expect_refused(here, train_run, {file, place});
  }
}

TEST_F(Pairs, texts_longer_than_the_models_context_are_refused) {
  here.write("pairs.tsv", "a\tb\na b c d e f g h i j k l\tb\n");
  expect_refused(here, train_run, {"line 2", "model.block_size"});
  here.write("pairs.tsv", kPairs);
  ASSERT_EQ(train({"--set", "train.max_steps=1"}).code, 0);
  const Outcome sample = here.run({"sample", "run", "--prompt", "you\na b c d e f g h i j k l"});
  EXPECT_EQ(sample.code, 2);
  expect_named(sample.err, {"prompt", "line 2"});
}

TEST_F(Pairs, a_line_that_cannot_be_answered_is_reported_and_the_others_are_answered) {
  ASSERT_EQ(train().code, 0);
  const Words beam{"sample", "run", "--beam", "2", "--prompt", "-"};
  const Outcome whole = here.run(beam, {.input = "the lamp\nwho goes home\n"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  const Outcome holed = here.run(beam, {.input = "the lamp\n\nwho goes home\na b c d e f g h i j k l m\n"});
  EXPECT_EQ(holed.code, 2);
  const std::size_t first_end = whole.out.find('\n') + 1;
  EXPECT_EQ(holed.out, whole.out.substr(0, first_end) + "\n" + whole.out.substr(first_end) + "\n") << "an answer a line";
  expect_named(holed.err, {"line 2", "line 4", " 14 "});
  Words as_json = beam;
  as_json.emplace_back("--json");
  const Json samples = Json::parse(here.run(as_json, {.input = "the lamp\n\n"}).out)["samples"];
  EXPECT_EQ(samples.size(), 2U);
  EXPECT_TRUE(samples[0]["text"].is_string() && samples[1]["text"].is_null()) << samples;
  EXPECT_EQ(here.run(beam, {.input = "\n\n"}).out, "\n\n");
}

TEST_F(Pairs, unknown_words_are_reported) {
  ASSERT_EQ(train({"--set", "train.max_steps=1"}).code, 0);
  const Outcome sampled = here.run({"sample", "run", "--prompt", "the lamp\nthe zebra and the gnu zebra"});
  EXPECT_EQ(sampled.code, 0);
  expect_named(sampled.err, {"line 2", "<unk>", "zebra", "gnu"});
  EXPECT_FALSE(contains(sampled.err, "line 1")) << sampled.err;
}

}  // namespace
}  // namespace dikkat::testing
