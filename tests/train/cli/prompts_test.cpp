// Many prompts from a file: a line out for each line in.
#include <gtest/gtest.h>

#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class PromptsTest : public ::testing::Test {
 protected:
  void SetUp() override { here_.train("run", {"train.max_steps=40", "model.dropout=0.0", "optim.learning_rate=2e-2"}); }

  Outcome answer(const std::string& input, const Words& more = {}) const {
    return here_.run(with({"sample", "run", "--prompts", "-"}, more), {.input = input});
  }

  Workspace here_;
};

TEST_F(PromptsTest, EachIsAnsweredAsItWouldBeAlone) {
  const std::vector<std::string> prompts = {
      "the lamp ", "by", "t", "the ships go by the lamp and turn at night", "night.\n", "and ", "at", "go by ", "the lamp ", "ships"};
  const Words options = {"--num-samples", "3", "--max-new-tokens", "30", "--seed", "9", "--stop", "e ", "--logprobs"};
  std::string input;
  for (const std::string& prompt : prompts) {
    input += Json{{"prompt", prompt}}.dump() + "\n";
  }
  const Outcome together = answer(input, options);
  EXPECT_EQ(together.code, 0) << together.err;
  const std::vector<Json> lines = lines_of(together.out);
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
  const std::vector<Json> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], (Json{{"prompt", "the "}, {"samples", lines[0]["samples"]}})) << "a string is a prompt, and `seed` only a column";

  const Outcome again = answer(R"({"prompt":"the ","samples":7,"error":"old"})", {"--max-new-tokens", "5"});
  EXPECT_EQ(Json::parse(again.out), lines[1]) << "what was answered before is answered anew";
}

TEST_F(PromptsTest, ALineThatCannotBeAnsweredSaysWhyAndTheOthersAreAnswered) {
  here_.write("letters.toml",
              "[model]\nn_layer = 1\nn_head = 1\nn_embd = 8\nblock_size = 8\n[tokenizer]\nkind = \"char\"\n"
              "[data]\ncorpus = [\"text.txt\"]\n[train]\nmax_steps = 1\nbatch_size = 2\n");
  ASSERT_EQ(here_.run({"train", "--config", "letters.toml", "--out", "letters"}).code, 0);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "the line is empty, expected an object such as {\"prompt\": \"TEXT\"}, or a string"},
      {"  \t", "the line is empty"},
      {"the lamp", "column 2: not valid JSON: invalid literal; a line is an object such as {\"prompt\": \"TEXT\"}, or a string"},
      {R"({"prompt": "the")", "column 17: not valid JSON: unexpected end of the line; expected '}'"},
      {R"({"prompt": "the"} {})", "column 19: not valid JSON: unexpected '{'; expected end of the line"},
      {"{\"prompt\": \"\xFF\"}", "column 13: not valid JSON: invalid string: ill-formed UTF-8 byte"},
      {R"({"prompt": "\ud800"})", "column 19: not valid JSON: invalid string: surrogate"},
      {R"({"prompt": "the", "n": 1e999})", "has a number beyond those of f64"},
      {deep, "its JSON is nested more than 100 deep"},
      {R"({"prompt": "the", "more": )" + deep + "}", "its JSON is nested more than 100 deep"},
      {"3", "the line is a JSON number, expected an object"},
      {R"(["the"])", "the line is a JSON array"},
      {"null", "the line is a JSON null"},
      {R"({"id": 4, "text": "the"})", "the object has no field \"prompt\""},
      {R"({"prompt": ["the"]})", "the field \"prompt\" is a JSON array, expected a string"},
      {R"({"prompt": ""})", "the prompt is empty, expected one token or more"},
      {R"({"prompt": "ü", "id": 5})", "prompt: "},
  };
  std::string input;
  for (const auto& [line, message] : wrong) {
    input += line + "\n\"the\"\n";
  }
  const Outcome outcome = here_.run({"sample", "letters", "--prompts", "-", "--max-new-tokens", "2"}, {.input = input});
  EXPECT_EQ(outcome.code, 2);
  const std::vector<Json> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2 * wrong.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_TRUE(contains(lines[2 * i].value("error", ""), wrong[i].second)) << lines[2 * i];
    EXPECT_FALSE(lines[2 * i].contains("samples"));
    EXPECT_EQ(lines[2 * i + 1], lines[1]);
    const std::string place = "standard input: line " + std::to_string(2 * i + 1) + ": ";
    EXPECT_TRUE(contains(outcome.err, "dikkat: " + place + wrong[i].second)) << place << outcome.err;
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

TEST_F(PromptsTest, TellsOnceWhatOfPromptsIsLeftOut) {
  const std::string longer = "\"" + std::string(30, 'x') + "\"\n";
  const Outcome two = answer("\"the\"\n" + longer + longer, {"--max-new-tokens", "1"});
  EXPECT_TRUE(two.err.starts_with("standard input: 2 prompts have more tokens than the model's context of 24 (line 2 is the first)"))
      << two.err;
  EXPECT_EQ(std::ranges::count(two.err, '\n'), 1);
  EXPECT_TRUE(contains(answer(longer, {"--max-new-tokens", "1"}).err, "1 prompt has more tokens than the model's context of 24 (line 1)"));
}

TEST_F(PromptsTest, RefusesWhatDoesNotGoTogether) {
  here_.write("p", "\"x\"\n");
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--prompts", "p", "--prompt", "x"}, "cannot be combined with --prompt; drop one of the two"},
      {{"--prompts", "p", "--prompt-file", "p"}, "cannot be combined with --prompt-file; drop one of the two"},
      {{"--prompts", "p", "--json"}, "writes a JSON object for each, so it cannot be combined with --json"},
      {{"--prompts", "p", "-i"}, "cannot be combined with --prompts; drop one of the two"},
      {{"--prompts", "p", "--temperature", "0", "--top-k", "2"}, "so top-k would change nothing"},
      {{"--prompts", "p", "--beam", "2"}, "--beam is for an encoder-decoder"},
      {{"--prompts", "nowhere"}, "nowhere: cannot be read: No such file or directory"},
      {{"--prompts", "."}, ".: cannot be read: Is a directory"},
      {{"--prompts", ""}, "--prompts"},
      {{"--logprobs"}, "--logprobs "},
  };
  for (const auto& [words, message] : cases) {
    const Outcome outcome = here_.run(with({"sample", "run"}, words));
    EXPECT_EQ(outcome.code, 2) << message;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(contains(outcome.err, message)) << outcome.err;
  }
}

TEST_F(PromptsTest, AnInterruptLeavesTheLinesThatAreComplete) {
  here_.write("prompts.jsonl", "\"the lamp turns \"\n\"the ships go by \"\n\"nothing\"\n");
  Program program(here_.here({"sample", "run", "--prompts", "prompts.jsonl", "--num-samples", "8", "--max-new-tokens", "3000"}));
  ASSERT_TRUE(program.until([&] { return contains(program.out(), "\n"); }))
      << "a line is there as soon as it is complete: " << program.err();
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 130);
  const std::vector<Json> lines = lines_of(stopped.out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["prompt"], "the lamp turns ");
  for (const Json& sample : lines[0]["samples"]) {
    EXPECT_EQ(sample["ended"], "length");
  }
  EXPECT_TRUE(contains(stopped.err, "stopped after 1 of 3 lines\n")) << stopped.err;
}

TEST_F(PromptsTest, ProgressIsShownOnATerminal) {
  Terminal terminal;
  here_.write("prompts.jsonl", "\"the \"\n\"by \"\n");
  Program program(here_.here({"sample", "run", "--prompts", "prompts.jsonl", "--max-new-tokens", "1000000000"}, {.err = terminal.name()}));
  EXPECT_TRUE(program.until([&] { return contains(terminal.shown(), "generating") && contains(terminal.shown(), " tokens/s"); }))
      << terminal.shown();
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
  for (int i = 0; i < 70; ++i) {  // more than are answered together
    input += "{\"prompt\":\"who keeps the lamp\",\"id\":" + std::to_string(i) + "}\n\"the lamp\"\n";
  }
  const Outcome outcome = here_.run({"sample", "run", "--prompts", "-", "--beam", "2"}, {.input = input});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<Json> lines = lines_of(outcome.out);
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

TEST_F(PromptsForAnEncoderDecoder, ALineThatCannotBeAnsweredSaysWhy) {
  here_.write("p.jsonl", "\"the lamp\"\n\" \"\n\"a b c d e f g h i j k l m\"\n\"the zebra\"\n7\n");
  const Outcome outcome = here_.run({"sample", "run", "--prompts", "p.jsonl", "--attention"});
  EXPECT_EQ(outcome.code, 2);
  const std::vector<Json> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["samples"][0]["text"], "turns");
  EXPECT_EQ(lines[0]["samples"][0]["attention"].size(), 3U);
  EXPECT_TRUE(contains(lines[1]["error"], "the source has no words")) << lines[1];
  EXPECT_TRUE(contains(lines[2]["error"], "the source has 14 tokens")) << lines[2];
  EXPECT_TRUE(lines[3].contains("samples"));
  EXPECT_TRUE(contains(lines[4]["error"], "the line is a JSON number")) << lines[4];
  EXPECT_TRUE(contains(outcome.err, "dikkat: p.jsonl: line 2: the source has no words")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "p.jsonl: line 4: the model does not know these words and reads each as <unk>: zebra")) << outcome.err;
}

}  // namespace
}  // namespace dikkat::testing
