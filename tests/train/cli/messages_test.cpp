// A file of questions: each line is answered once, by itself.
#include <sys/file.h>

#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

const std::vector<std::string> kQuestions = {
    R"({"id":[7,null],"prompt":"the lamp","ü":{"b":1.50,"a":12345678901234567890123}})",
    R"({"messages":[{"role":"system","content":"at night"},{"role":"user","content":"ships"}],"id":"two"})",
    R"({"prompt":"ships go by"})",
    R"({"conversations":[{"from":"human","value":"and"},{"from":"gpt","value":"go"},{"from":"human","value":"by"}]})",
    R"({"prompt":"the lamp"})",
    R"({"instruction":"turns","input":"the ships"})",
};

std::string joined(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + '\n';
  }
  return text;
}

Words split(const std::string& text) { return lines_with(text, ""); }

class MessagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    here_.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=96", "model.dropout=0.0",
                        "train.max_steps=3"});
    here_.write("questions.jsonl", joined(kQuestions));
  }

  static Words command(const Words& more = {}) {
    Words words = {"sample", "run", "--messages", "questions.jsonl"};
    for (const auto& [option, value] : {std::pair{"--template", "plain"}, {"--max-new-tokens", "12"}, {"--seed", "5"}}) {
      if (std::ranges::find(more, option) == more.end()) {
        words.insert(words.end(), {option, value});
      }
    }
    return with(words, more);
  }
  std::string answers(const Words& more = {}) const {
    const Outcome outcome = here_.run(command(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  Workspace here_;
};

TEST_F(MessagesTest, EachLineIsAnsweredAsByItself) {
  const std::string together = answers({"--temperature", "2"});
  const Words lines = split(together);
  ASSERT_EQ(lines.size(), kQuestions.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string question = kQuestions[i].substr(0, kQuestions[i].size() - 1);
    EXPECT_TRUE(lines[i].starts_with(i == 0 ? R"({"id":[7,null],"prompt":"the lamp","ü":{"b":1.5,"a":12345678901234567890123},"answer":")"
                                            : question + R"(,"answer":")"))
        << lines[i];
    const Json answer = Json::parse(lines[i]);
    EXPECT_TRUE(answer["finish_reason"] == "length" || answer["finish_reason"] == "stop");
    EXPECT_FALSE(answer.contains("log_probabilities"));
  }
  EXPECT_NE(Json::parse(lines[0])["answer"], Json::parse(lines[4])["answer"]) << "each line has its own random numbers";
  for (const Words& more : {Words{"--parallel", "1"}, {"--parallel", "3"}, {"--threads", "1"}, {"--threads", "3", "--parallel", "5"}}) {
    EXPECT_EQ(answers(with({"--temperature", "2"}, more)), together);
  }
  EXPECT_NE(answers({"--temperature", "2", "--seed", "6"}), together);
  // One by one: the file grows by a question, and the same command continues.
  for (std::size_t count = 1; count <= kQuestions.size(); ++count) {
    here_.write("questions.jsonl", joined(std::span(kQuestions).first(count)));
    EXPECT_EQ(answers({"--temperature", "2", "--out", "answers.jsonl"}), "");
    EXPECT_EQ(contents(here_ / "answers.jsonl"), joined(std::span(lines).first(count)));
  }
}

TEST_F(MessagesTest, AnswersAreThoseOfAChat) {
  const Words greedy = {"--temperature", "0", "--template", "plain", "--max-new-tokens", "12"};
  here_.write("questions.jsonl", "\xEF\xBB\xBF{\"prompt\": \"the lamp\"}\r\n\n\"ships\"");
  const Outcome asked =
      here_.run(with({"sample", "run", "--messages", "-", "--logprobs", "--json"}, greedy), {.input = contents(here_ / "questions.jsonl")});
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Words lines = split(asked.out);
  ASSERT_EQ(lines.size(), 2U) << asked.out;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Json answer = Json::parse(lines[i]);
    const std::string prompt = i == 0 ? "the lamp" : "ships";
    EXPECT_EQ(answer["prompt"], prompt);
    EXPECT_GE(answer["log_probabilities"].size(), 1U);
    const Outcome chat = here_.run(with({"chat", "run"}, greedy), {.input = prompt + "\n"});
    const std::string text = answer["answer"];
    EXPECT_EQ(chat.out, text.ends_with('\n') ? text : text + '\n');
  }
}

TEST_F(MessagesTest, WithoutATemplatePromptsAreContinued) {
  here_.write("prompts.jsonl", "{\"prompt\": \"the lamp\"}\n");
  const Words greedy = {"--temperature", "0", "--max-new-tokens", "12"};
  const Json answer = Json::parse(here_.run(with({"sample", "run", "--messages", "prompts.jsonl"}, greedy)).out);
  const Json alone = Json::parse(here_.run(with({"sample", "run", "--prompt", "the lamp", "--json"}, greedy)).out);
  EXPECT_EQ(answer["answer"], alone["samples"][0]["text"]);
  expect_refused(here_, {"sample", "run", "--messages", "questions.jsonl", "--out", "new.jsonl"},
                 {"questions.jsonl", "line 2", "--template", "chatml"});
  expect_refused(here_, {"sample", "run", "--messages", "prompts.jsonl", "--system", "Be brief."}, {"--system", "--template"});
}

TEST_F(MessagesTest, AnAnswerEndsWithItsFormOrIsCut) {
  for (const std::string& line : split(answers({"--choice", "spam,ham"}))) {
    const Json answer = Json::parse(line);
    EXPECT_TRUE(answer["answer"] == "spam" || answer["answer"] == "ham") << line;
    EXPECT_EQ(answer["finish_reason"], "stop");
  }
  for (const std::string& line : split(answers({"--regex", "[0-9]{50,60}"}))) {
    const Json answer = Json::parse(line);
    EXPECT_EQ(answer["answer"].get<std::string>().find_first_not_of("0123456789"), std::string::npos) << line;
    EXPECT_EQ(answer["finish_reason"], "length");
  }
  const auto notes = [&](const Words& form) { return lines_with(here_.run(command(form)).err, "--max-new-tokens"); };
  EXPECT_EQ(notes({"--regex", "[0-9]{50,60}"}).size(), 1U);
  EXPECT_TRUE(notes({"--choice", "spam,ham"}).empty());
  // The context of 96 tokens is full before an answer has 1,000.
  here_.write("questions.jsonl", kQuestions[0] + "\n");
  const Json full = Json::parse(answers({"--regex", "[0-9]{900}", "--max-new-tokens", "1000", "--logprobs"}));
  EXPECT_GT(full["log_probabilities"].size(), 40U);
  EXPECT_LT(full["log_probabilities"].size(), 96U);
  EXPECT_EQ(full["finish_reason"], "length");
}

TEST_F(MessagesTest, ReasoningIsKeptApart) {
  here_.write(
      "think.jinja",
      "{% for m in messages %}{{ m.role }}:{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
      "\n{% endfor %}{% if add_generation_prompt %}assistant:<think>{% endif %}");
  for (const std::string& line : split(answers({"--template", "think.jinja", "--choice", "spam,ham"}))) {
    const Json answer = Json::parse(line);
    EXPECT_EQ(answer["answer"], "") << "the prompt begins the reasoning, which has not ended";
    EXPECT_FALSE(answer["reasoning_content"].get<std::string>().empty());
    EXPECT_EQ(answer["finish_reason"], "length");
  }
}

TEST_F(MessagesTest, ContinuesAfterTheAnswersThatAFileHas) {
  const Words options = {"--temperature", "1", "--logprobs", "--out", "answers.jsonl"};
  answers(options);
  const std::string whole = contents(here_ / "answers.jsonl");
  ASSERT_EQ(split(whole).size(), kQuestions.size());
  const std::size_t second = whole.find('\n') + 1, last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, second, second + 30, last + 20, whole.size() - 1, whole.size()}) {
    here_.write("answers.jsonl", whole.substr(0, size));
    answers(options);
    EXPECT_EQ(contents(here_ / "answers.jsonl"), whole) << size;
  }
}

TEST_F(MessagesTest, AnInterruptLeavesTheAnswersThatAreComplete) {
  std::vector<std::string> many;
  for (int i = 0; i < 3000; ++i) {
    many.push_back("{\"prompt\":\"the lamp " + std::to_string(i % 7) + "\",\"id\":" + std::to_string(i) + "}");
  }
  here_.write("questions.jsonl", joined(many));
  Program program(here_.here(command({"--out", "answers.jsonl"})));
  ASSERT_TRUE(program.until([&] { return split(contents(here_ / "answers.jsonl")).size() > 3; })) << program.err();
  // Nobody else may write meanwhile.
  const Outcome other = here_.run(command({"--out", "answers.jsonl"}));
  EXPECT_EQ(other.code, 2);
  expect_named(other.err, {"answers.jsonl"});
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 130);
  const std::string text = contents(here_ / "answers.jsonl");
  EXPECT_TRUE(text.ends_with('\n'));
  const Words lines = split(text);
  EXPECT_LT(lines.size(), many.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(Json::parse(lines[i])["id"], i);
  }
}

TEST_F(MessagesTest, ALineThatCannotBeAnsweredIsNamedBeforeAnyAnswer) {
  const std::pair<std::string, Words> wrong[] = {
      {"the lamp", {"column 2"}},
      {R"({"prompt": "the")", {"column 17"}},
      {"3", {"number"}},
      {R"({"text": "the"})", {"\"text\"", "\"messages\""}},
      {R"({"messages": []})", {"messages"}},
      {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})", {"assistant"}},
      {R"({"messages": [{"role": "user", "content": "a", "tool_calls": 7}]})", {"messages[0].tool_calls"}},
      {R"({"prompt": "a", "tools": [{"type": "function"}]})", {"\"tools\""}},
      {R"({"prompt": "a", "answer": 1})", {"\"answer\""}},
      {R"({"prompt": ")" + std::string(900, 'x') + "\"}", {" 96", "tokens"}},
  };
  for (const auto& [line, fragments] : wrong) {
    here_.write("questions.jsonl", "\"the\"\n\n" + line + "\n\"the\"\n");
    expect_refused(here_, command({"--out", "new.jsonl"}), with({"questions.jsonl: line 3: "}, fragments));
  }
  here_.write("questions.jsonl", "\n");
  expect_refused(here_, command(), {"questions.jsonl"});
}

TEST_F(MessagesTest, OptionsThatDoNotGoTogetherAreRefused) {
  const std::pair<Words, Words> cases[] = {
      {command({"--prompt", "a"}), {"--messages", "--prompt"}},
      {command({"--prompts", "questions.jsonl"}), {"--messages", "--prompts"}},
      {command({"--num-samples", "2"}), {"--messages", "--num-samples"}},
      {command({"--interactive"}), {"--messages", "--interactive"}},
      {command({"--html", "a.html"}), {"--messages", "--html"}},
      {command({"--ignore-end"}), {"--messages", "--ignore-end"}},
      {command({"--reread"}), {"--messages", "--reread"}},
      {command({"--choice", "a,a", "--out", "new.jsonl"}), {"--choice"}},
      {command({"--regex", "(?=a)b", "--out", "new.jsonl"}), {"--regex"}},
      {{"sample", "run", "--out", "new.jsonl"}, {"--out", "--messages"}},
      {{"sample", "run", "--parallel", "2"}, {"--parallel", "--messages"}},
      {{"sample", "run", "--template", "plain"}, {"--template", "--messages"}},
      {{"sample", "run", "--messages", "none.jsonl"}, {"none.jsonl"}},
  };
  for (const auto& [words, fragments] : cases) {
    expect_refused(here_, words, fragments);
  }
}

TEST_F(MessagesTest, AFileOfOtherAnswersIsNotTouched) {
  answers({"--out", "answers.jsonl"});
  const std::string whole = contents(here_ / "answers.jsonl");
  here_.train("other", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=96", "train.max_steps=1"});
  Words other = command({"--out", "answers.jsonl"});
  other[1] = "other";
  expect_refused(here_, other, {"answers.jsonl", "line 1"});
  for (const Words& more : {Words{"--seed", "6"}, {"--temperature", "0"}, {"--choice", "spam,ham"}, {"--stop", "x"}, {"--system", "Hi."}}) {
    expect_refused(here_, command(with({"--out", "answers.jsonl"}, more)), {"answers.jsonl", "line 1"});
  }
  // Other questions, fewer of them, and texts that are no answers.
  here_.write("questions.jsonl", kQuestions[0] + "\n" + R"({"prompt":"ships"})" + "\n");
  expect_refused(here_, command({"--out", "answers.jsonl"}), {"answers.jsonl", "line 2"});
  here_.write("questions.jsonl", kQuestions[0] + "\n");
  expect_refused(here_, command({"--out", "answers.jsonl"}), {"answers.jsonl", "line 2"});
  for (const std::string text : {"a note", "a note\n", "{}\n", "[]\n", "{\"fingerprint\":7}\n", "\n"}) {
    here_.write("note.jsonl", text);
    expect_refused(here_, command({"--out", "note.jsonl"}), {"note.jsonl", "line 1"});
  }
  expect_refused(here_, command({"--out", "questions.jsonl"}), {"questions.jsonl", "line 1"});
  expect_refused(here_, command({"--out", "run"}), {"--out"});
  expect_refused(here_, command({"--out", "none/new.jsonl"}), {"none/new.jsonl"});
  expect_refused(here_, command({"--out", "/dev/null"}), {"/dev/null"});
}

}  // namespace
}  // namespace dikkat::testing
