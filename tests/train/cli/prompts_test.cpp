// Many prompts from a file: one line of output for each line of input.
#include <gtest/gtest.h>

#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

std::vector<Json> answers_in(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

class PromptsTest : public ::testing::Test {
 protected:
  void SetUp() override { here_.train("run", {"train.max_steps=40", "model.dropout=0.0", "optim.learning_rate=2e-2"}); }

  Outcome answer(const std::string& input, const Words& more = {}) const {
    return here_.run(with({"sample", "run", "--prompts", "-"}, more), {.input = input});
  }

  Workspace here_;
};

TEST_F(PromptsTest, EachIsAnsweredLikeASinglePrompt) {
  const std::vector<std::string> prompts = {
      "the lamp ", "by", "t", "the ships go by the lamp and turn at night", "night.\n", "and ", "at", "go by ", "the lamp ", "ships"};
  const Words options = {"--num-samples", "3", "--max-new-tokens", "30", "--seed", "9", "--stop", "e ", "--logprobs"};
  std::string input;
  for (const std::string& prompt : prompts) {
    input += Json{{"prompt", prompt}}.dump() + "\n";
  }
  const Outcome together = answer(input, options);
  EXPECT_EQ(together.code, 0) << together.err;
  const std::vector<Json> lines = answers_in(together.out);
  ASSERT_EQ(lines.size(), prompts.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Outcome alone = here_.run(with({"sample", "run", "--prompt", prompts[i], "--json"}, options));
    EXPECT_EQ(lines[i]["prompt"], prompts[i]);
    EXPECT_EQ(lines[i]["samples"], Json::parse(alone.out)["samples"]) << prompts[i];
    EXPECT_EQ(lines[i]["samples"].size(), 3U);
    EXPECT_TRUE(lines[i]["samples"][2].contains("log_probabilities"));
  }
  EXPECT_NE(lines[0]["samples"], lines[1]["samples"]);
  EXPECT_EQ(lines[0]["samples"], lines[8]["samples"]) << "the same prompt";
  for (const char* threads : {"1", "3"}) {
    EXPECT_EQ(answer(input, with(options, {"--threads", threads})).out, together.out) << threads;
  }
}

TEST_F(PromptsTest, OtherFieldsAreCopied) {
  const std::string line = R"({"id":[7,null],"prompt":"the ","label":"ü","seed":3,"nested":{"b":1,"a":0.5}})";
  here_.write("prompts.jsonl", "\xEF\xBB\xBF" + line + "\r\n\"the \"");
  const Outcome outcome = here_.run({"sample", "run", "--prompts", "prompts.jsonl", "--max-new-tokens", "5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string same = line.substr(0, line.size() - 1) + ",\"samples\":";
  EXPECT_TRUE(outcome.out.starts_with(same)) << "in their order: " << outcome.out;
  const std::vector<Json> lines = answers_in(outcome.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], (Json{{"prompt", "the "}, {"samples", lines[0]["samples"]}})) << "a string is a prompt, and `seed` only a column";

  const Outcome again = answer(R"({"prompt":"the ","samples":7,"error":"old"})", {"--max-new-tokens", "5"});
  EXPECT_EQ(Json::parse(again.out), lines[1]) << "answers from before are replaced";
}

TEST_F(PromptsTest, ALineThatCannotBeAnsweredHasAnErrorAndTheOthersAreAnswered) {
  here_.write("letters.toml",
              "[model]\nn_layer = 1\nn_head = 1\nn_embd = 8\nblock_size = 8\n[tokenizer]\nkind = \"char\"\n"
              "[data]\ncorpus = [\"text.txt\"]\n[train]\nmax_steps = 1\nbatch_size = 2\n");
  ASSERT_EQ(here_.run({"train", "--config", "letters.toml", "--out", "letters"}).code, 0);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "\"prompt\""},
      {"  \t", "\"prompt\""},
      {"the lamp", "column 2"},
      {R"({"prompt": "the")", "column 17"},
      {R"({"prompt": "the"} {})", "column 19"},
      {"{\"prompt\": \"\xFF\"}", "column 13"},
      {R"({"prompt": "\ud800"})", "column 19"},
      {R"({"prompt": "the", "n": 1e999})", "f64"},
      {deep, "100"},
      {R"({"prompt": "the", "more": )" + deep + "}", "100"},
      {"3", "number"},
      {R"(["the"])", "array"},
      {"null", "null"},
      {R"({"id": 4, "text": "the"})", "\"prompt\""},
      {R"({"prompt": ["the"]})", "array"},
      {R"({"prompt": ""})", "prompt"},
      {R"({"prompt": "ü", "id": 5})", "byte 0"},
  };
  // A good line follows each wrong one.
  std::string input;
  for (const auto& [line, fragment] : wrong) {
    input += line + "\n\"the\"\n";
  }
  const Outcome outcome = here_.run({"sample", "letters", "--prompts", "-", "--max-new-tokens", "2"}, {.input = input});
  EXPECT_EQ(outcome.code, 2);
  const std::vector<Json> lines = answers_in(outcome.out);
  ASSERT_EQ(lines.size(), 2 * wrong.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_TRUE(contains(lines[2 * i].value("error", ""), wrong[i].second)) << lines[2 * i];
    EXPECT_FALSE(lines[2 * i].contains("samples"));
    EXPECT_EQ(lines[2 * i + 1], lines[1]);
    const std::string place = "standard input: line " + std::to_string(2 * i + 1) + ": ";
    EXPECT_TRUE(contains(outcome.err, "dikkat: " + place + lines[2 * i].value("error", "(none)"))) << place << outcome.err;
  }
  EXPECT_EQ(lines[1]["samples"].size(), 1U);
  EXPECT_EQ(lines[32]["id"], 5) << "an object keeps its fields";
}

TEST_F(PromptsTest, NoLinesGiveNoLines) {
  const Outcome none = answer("");
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(answer("\n\n").code, 2);
}

TEST_F(PromptsTest, ReportsOnceThatPromptsAreCut) {
  const std::string longer = "\"" + std::string(30, 'x') + "\"\n";
  const Outcome two = answer("\"the\"\n" + longer + longer, {"--max-new-tokens", "1"});
  EXPECT_EQ(std::count(two.err.begin(), two.err.end(), '\n'), 1) << two.err;
  expect_named(two.err, {" 2 ", " 24", "line 2"});
  expect_named(answer(longer, {"--max-new-tokens", "1"}).err, {" 1 ", " 24", "line 1"});
}

TEST_F(PromptsTest, AnInterruptLeavesTheLinesThatAreComplete) {
  here_.write("prompts.jsonl", "\"the lamp turns \"\n\"the ships go by \"\n\"nothing\"\n");
  Program program(here_.here({"sample", "run", "--prompts", "prompts.jsonl", "--num-samples", "8", "--max-new-tokens", "3000"}));
  ASSERT_TRUE(program.until([&] { return contains(program.out(), "\n"); }))
      << "a line is there as soon as it is complete: " << program.err();
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 130);
  const std::vector<Json> lines = answers_in(stopped.out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["prompt"], "the lamp turns ");
  for (const Json& sample : lines[0]["samples"]) {
    EXPECT_EQ(sample["ended"], "length");
  }
  expect_named(stopped.err, {" 1 of 3 "});
}

TEST_F(PromptsTest, ProgressIsShownOnATerminal) {
  Terminal terminal;
  here_.write("prompts.jsonl", "\"the \"\n\"by \"\n");
  Program program(here_.here({"sample", "run", "--prompts", "prompts.jsonl", "--max-new-tokens", "1000000000"}, {.err = terminal.name()}));
  EXPECT_TRUE(program.until([&] { return contains(terminal.shown(), " tokens/s"); })) << terminal.shown();
}

class PromptsForAnEncoderDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    here_.write("pairs.tsv", "when the lamp goes out\tthe ships turn home\nwho keeps the lamp\ta keeper does\nthe lamp\tturns\n");
    here_.write("pairs.toml",
                "[model]\nkind = \"encoder_decoder\"\nn_layer = 1\nn_head = 2\nn_embd = 32\nblock_size = 12\n[tokenizer]\nkind = \"word\"\n"
                "[data]\ncorpus = [\"pairs.tsv\"]\nval_fraction = 0.0\n[optim]\nlearning_rate = 1e-2\nwarmup_steps = 10\n"
                "weight_decay = 0.0\n[train]\nbatch_size = 3\nmax_steps = 60\n");
    ASSERT_EQ(here_.run({"train", "--config", "pairs.toml", "--out", "run"}).code, 0);
  }
  Workspace here_;
};

TEST_F(PromptsForAnEncoderDecoder, EachIsASource) {
  std::string input;
  for (int i = 0; i < 70; ++i) {  // more than are answered at once
    input += "{\"prompt\":\"who keeps the lamp\",\"id\":" + std::to_string(i) + "}\n\"the lamp\"\n";
  }
  const Outcome outcome = here_.run({"sample", "run", "--prompts", "-", "--beam", "2"}, {.input = input});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<Json> lines = answers_in(outcome.out);
  ASSERT_EQ(lines.size(), 140U);
  Json alone = Json::parse(here_.run({"sample", "run", "--prompt", "who keeps the lamp", "--beam", "2", "--json"}).out)["samples"];
  for (std::size_t i = 0; i < lines.size(); i += 2) {
    EXPECT_EQ(lines[i]["id"], i / 2);
    ASSERT_EQ(lines[i]["samples"].size(), 1U);
    const Json& sample = lines[i]["samples"][0];
    EXPECT_EQ(sample["text"], "a keeper does");
    EXPECT_EQ(sample["tokens"], alone[0]["tokens"]);
    EXPECT_EQ(sample["ended"], true);
    EXPECT_NEAR(sample["log_probability"].get<double>(), alone[0]["log_probability"].get<double>(), 1e-4);
    EXPECT_EQ(lines[i + 1]["samples"][0]["text"], "turns");
  }
}

TEST_F(PromptsForAnEncoderDecoder, ALineThatCannotBeAnsweredHasAnError) {
  here_.write("p.jsonl", "\"the lamp\"\n\" \"\n\"a b c d e f g h i j k l m\"\n\"the zebra\"\n7\n");
  const Outcome outcome = here_.run({"sample", "run", "--prompts", "p.jsonl", "--attention"});
  EXPECT_EQ(outcome.code, 2);
  const std::vector<Json> lines = answers_in(outcome.out);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["samples"][0]["text"], "turns");
  EXPECT_EQ(lines[0]["samples"][0]["attention"].size(), 3U);
  EXPECT_TRUE(lines[1]["error"].is_string() && !lines[1].contains("samples")) << lines[1];
  expect_named(lines[2]["error"], {" 14 "});
  EXPECT_TRUE(lines[3].contains("samples"));
  expect_named(lines[4]["error"], {"number"});
  expect_named(outcome.err, {"p.jsonl: line 2: " + lines[1].value("error", "(none)"), "p.jsonl: line 4", "<unk>", "zebra"});
}

}  // namespace
}  // namespace dikkat::testing
