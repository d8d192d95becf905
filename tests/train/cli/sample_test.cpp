#include <regex>
#include <set>

#include <sys/stat.h>

#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

// The ways in which a person uses a model that writes.
namespace dikkat::testing {
namespace {

class SampleTest : public ::testing::Test {
 protected:
  void SetUp() override { here_.train("run", {"train.max_steps=40", "model.dropout=0.0", "optim.learning_rate=2e-2"}); }

  Outcome sample(const Words& rest, const Start& start = {}) const {
    Words words = {"sample", "run"};
    words.insert(words.end(), rest.begin(), rest.end());
    return here_.run(words, start);
  }
  Json json(Words rest) const {
    rest.push_back("--json");
    const Outcome outcome = sample(rest);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  Workspace here_;
};

TEST_F(SampleTest, AFileMayHoldThePrompt) {
  here_.write("prompt.txt", "the lamp\n");
  const Outcome file = sample({"--prompt-file", "prompt.txt", "--max-new-tokens", "9"});
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, sample({"--prompt", "the lamp\n", "--max-new-tokens", "9"}).out) << "with its line break";
  here_.write("marked.txt", "\xEF\xBB\xBFthe lamp\n");
  EXPECT_EQ(sample({"--prompt-file", "marked.txt", "--max-new-tokens", "9"}).out, file.out) << "without its byte order mark";
  EXPECT_EQ(file.err, "");
}

TEST_F(SampleTest, WeightsMayBeStoredInFewerBytes) {
  const Words words = {"--prompt", "the lamp turns and ", "--max-new-tokens", "40", "--temperature", "0", "--logprobs"};
  const Json plain = json(words)["samples"][0];
  for (const char* type : {"f32", "bf16", "q8", "q4"}) {
    SCOPED_TRACE(type);
    Words as = words;
    as.insert(as.end(), {"--weights", type});
    const Json packed = json(as)["samples"][0];
    EXPECT_EQ(packed == plain, std::string(type) == "f32") << "the first bits differ";
    EXPECT_NEAR(packed["log_probabilities"][0].get<double>(), plain["log_probabilities"][0].get<double>(), 0.5);
    Start one_thread;
    one_thread.environment = {{"OMP_NUM_THREADS", "1"}};
    as.push_back("--json");
    EXPECT_EQ(Json::parse(sample(as, one_thread).out)["samples"][0], packed);

    const Json evaluated = Json::parse(here_.run({"eval", "run", "--weights", type, "--json"}).out);
    EXPECT_EQ(evaluated["weights"], type);
    EXPECT_NEAR(evaluated["loss"].get<double>(), Json::parse(here_.run({"eval", "run", "--json"}).out)["loss"].get<double>(), 0.1);
  }
}

TEST_F(SampleTest, KeysAndValuesMayBeStoredInFewerBytes) {
  const Words words = {"--prompt", "the lamp turns and ", "--max-new-tokens", "20", "--temperature", "0", "--logprobs"};
  const Json plain = json(words)["samples"][0];
  Words as = words;
  as.insert(as.end(), {"--cache", "f32"});
  EXPECT_EQ(json(as)["samples"][0], plain);
  as.back() = "bf16";
  const Json narrow = json(as)["samples"][0];
  EXPECT_NE(narrow, plain) << "the first bits differ";
  EXPECT_NEAR(narrow["log_probabilities"][0].get<double>(), plain["log_probabilities"][0].get<double>(), 0.1);
  const Json evaluated = Json::parse(here_.run({"eval", "run", "--cache", "bf16", "--json"}).out);
  const Json exact = Json::parse(here_.run({"eval", "run", "--json"}).out);
  EXPECT_EQ(evaluated["cache"], "bf16");
  EXPECT_EQ(exact["cache"], "f32");
  EXPECT_NE(evaluated["loss"], exact["loss"]);
  EXPECT_NEAR(evaluated["loss"].get<double>(), exact["loss"].get<double>(), 0.01);
}

TEST_F(SampleTest, AStopStringEndsATextBeforeIt) {
  const Words words = {"--prompt", "the ", "--max-new-tokens", "60", "--seed", "3", "--num-samples", "3"};
  const Json plain = json(words);
  Words stopped = words;
  stopped.insert(stopped.end(), {"--stop", "e ", "--stop", "\n"});
  const Json cut = json(stopped);
  int ended = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string text = plain["samples"][i]["text"];
    const std::size_t at = std::min(text.find("e "), text.find('\n'));
    EXPECT_EQ(cut["samples"][i]["text"], text.substr(0, at));
    EXPECT_EQ(cut["samples"][i]["ended"], at == std::string::npos ? "length" : "stop");
    ended += at != std::string::npos;
  }
  EXPECT_GT(ended, 0) << plain;
  Words one = {"--prompt", "the ", "--max-new-tokens", "60", "--seed", "3", "--stop", "e ", "--stop", "\n"};
  EXPECT_EQ(sample(one).out, "the " + cut["samples"][0]["text"].get<std::string>() + "\n") << "during generation, too";
}

TEST_F(SampleTest, ASampleDoesNotDependOnHowManyThereAre) {
  const Words words = {"--prompt", "by ", "--max-new-tokens", "30"};
  Words many = words;
  many.insert(many.end(), {"--num-samples", "10"});
  const Json ten = json(many);
  EXPECT_EQ(json(words)["samples"][0], ten["samples"][0]);
  EXPECT_NE(ten["samples"][1], ten["samples"][0]);
}

TEST_F(SampleTest, LogProbabilitiesComeWithTheTokens) {
  const Json object = json({"--prompt", "the ", "--max-new-tokens", "12", "--logprobs", "--temperature", "0"});
  const Json& one = object["samples"][0];
  ASSERT_EQ(one["log_probabilities"].size(), one["tokens"].size());
  for (const Json& value : one["log_probabilities"]) {
    EXPECT_LE(value.get<double>(), 0);
    EXPECT_GT(value.get<double>(), -5.6) << "the likeliest of 256";
  }
  EXPECT_FALSE(json({"--max-new-tokens", "1"})["samples"][0].contains("log_probabilities"));
}

TEST_F(SampleTest, ReportsThePartOfAPromptThatIsLeftOut) {
  const Outcome outcome = sample({"--prompt", std::string(30, 'x'), "--max-new-tokens", "1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  expect_named(outcome.err, {" 30 ", " 24", " 6 "});
}

TEST_F(SampleTest, AnswersLinesWithoutATerminal) {
  const Words words = {"--interactive", "--max-new-tokens", "7"};
  const Outcome two = sample(words, {.input = "the \n\nthe \nby "});
  EXPECT_EQ(two.code, 0) << two.err;
  const Json samples = json({"--prompt", "the ", "--num-samples", "3", "--max-new-tokens", "7"})["samples"];
  const std::string first = samples[0]["text"], third = samples[2]["text"];
  EXPECT_TRUE(two.out.starts_with(first)) << two.out;
  EXPECT_TRUE(contains(two.out, third)) << "the third answer draws as the third sample: " << two.out;
  EXPECT_EQ(sample(words, {.input = "the "}).out, first + (first.ends_with('\n') ? "" : "\n"));
  EXPECT_EQ(sample(words, {.input = ""}).out, "");
}

TEST_F(SampleTest, AtATerminalAnInterruptEndsTheAnswerAndNotTheSession) {
  Terminal terminal;
  here_.write("answers", "");
  Program program(here_.here({"sample", "run", "-i", "--max-new-tokens", "1000000000"},
                             {.environment = {{"TERM", "dumb"}, {"XDG_STATE_HOME", here_.path() + "/state"}},
                              .in = terminal.name(),
                              .out = "answers",
                              .err = terminal.name()}));
  ASSERT_TRUE(program.until([&] { return terminal.prompts() >= 1; })) << terminal.shown();
  // An interrupt ends the answer.
  terminal.type("the \r");
  ASSERT_TRUE(program.until([&] { return contents(here_ / "answers").size() > 100; }));
  program.send(SIGINT);
  ASSERT_TRUE(program.until([&] { return contains(terminal.shown(), " 24 "); })) << terminal.shown();
  const std::size_t first = contents(here_ / "answers").size();
  ASSERT_TRUE(program.until([&] { return terminal.prompts() >= 2; })) << terminal.shown();
  const int prompts = terminal.prompts();
  // The session continues with another line.
  terminal.type("by night\r");
  ASSERT_TRUE(program.until([&] { return contents(here_ / "answers").size() > first + 100; })) << terminal.shown();
  program.send(SIGINT);
  ASSERT_TRUE(program.until([&] { return terminal.prompts() > prompts; })) << terminal.shown();
  // An interrupt while a line is typed drops the line.
  terminal.type("nobody");
  ASSERT_TRUE(program.until([&] { return contains(terminal.shown(), "nobody"); })) << terminal.shown();
  const std::size_t typed = terminal.shown().size();
  program.send(SIGINT);  // drops the line, so that the end of input is at the beginning of one
  ASSERT_TRUE(program.until([&] { return terminal.shown().size() > typed; })) << "the line is drawn again without it";
  // The history has the finished lines, and only its owner may read it.
  terminal.type("\x04");
  EXPECT_EQ(program.wait().code, 0) << "Ctrl-D ends the session";
  const std::string history = contents(here_ / "state/dikkat/history");
  EXPECT_TRUE(contains(history, "the") && contains(history, "by\\040night")) << history;
  EXPECT_FALSE(contains(history, "nobody"));
  struct stat status{};
  ASSERT_EQ(::stat((here_ / "state/dikkat/history").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U) << "other users must not read typed lines";
}

TEST_F(SampleTest, ATerminalIsShownControlCharactersAndDoesNotObeyThem) {
  here_.write("prompt", "the \x1b[2J\x07 \xc2\x9b lamp");
  const Words words = {"sample", "bytes", "--prompt-file", "prompt", "--max-new-tokens", "1"};
  ASSERT_EQ(here_.train("bytes", {"tokenizer.kind=byte", "train.max_steps=1"}).code, 0);
  Terminal terminal;
  Program program(here_.here(words, {.out = terminal.name()}));
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_TRUE(contains(terminal.shown(), "the \\u001B[2J\\u0007 \\u009B lamp")) << terminal.shown();
  EXPECT_TRUE(contains(here_.run(words).out, "the \x1b[2J\x07 \xc2\x9b lamp")) << "a file has the bytes";
}

TEST_F(SampleTest, TerminationEndsASessionThatWaits) {
  Terminal terminal;
  Program program(here_.here(
      {"sample", "run", "-i"},
      {.environment = {{"TERM", "dumb"}, {"XDG_STATE_HOME", here_.path() + "/state"}}, .in = terminal.name(), .err = terminal.name()}));
  ASSERT_TRUE(program.until([&] { return terminal.prompts() >= 1; })) << terminal.shown();
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().code, 143);
}

TEST_F(SampleTest, WithoutATerminalAnInterruptEndsTheAnswerAndTerminationTheWaitForALine) {
  ASSERT_EQ(::mkfifo((here_ / "lines").c_str(), 0600), 0);
  const int writer = ::open((here_ / "lines").c_str(), O_RDWR | O_CLOEXEC);
  Program program(here_.here({"sample", "run", "-i", "--max-new-tokens", "1000000000"}, {.in = "lines"}));
  ASSERT_EQ(::write(writer, "the \n", 5), 5);
  ASSERT_TRUE(program.until([&] { return program.out().size() > 1000; }));
  program.send(SIGINT);
  ASSERT_TRUE(program.until([&] { return contains(program.err(), " 24 "); })) << program.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().code, 143);
  ::close(writer);
}

TEST_F(SampleTest, SeveralAreShownAsTheyComeOneAfterAnother) {
  Program program(here_.here({"sample", "run", "--prompt", "the ", "--num-samples", "3", "--max-new-tokens", "1000000000"}));
  ASSERT_TRUE(program.until([&] { return program.out().size() > 1000; })) << "during generation";
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 130);
  const std::string between = "\n---------------\nthe ";
  const std::size_t second = stopped.out.find(between);
  ASSERT_NE(second, std::string::npos);
  EXPECT_GT(second, 500U) << "the first one came first";
  EXPECT_NE(stopped.out.find(between, second + 1), std::string::npos) << "the unfinished others are shown at the end";

  const Words some = {"--prompt", "the ", "--num-samples", "11", "--max-new-tokens", "9"};
  std::string expected;
  const Json samples = json(some)["samples"];
  for (const Json& one : samples) {
    const std::string text = "the " + one["text"].get<std::string>();
    expected += (expected.empty() ? "" : "---------------\n") + text + (text.ends_with('\n') ? "" : "\n");
  }
  EXPECT_EQ(sample(some).out, expected) << "across blocks of eight too";
}

TEST_F(SampleTest, ATextHasTheFormThatIsAskedFor) {
  const std::regex moves("([a-h][1-8][a-h][1-8][qrbn]? )+");
  const Json free = json({"--num-samples", "4", "--max-new-tokens", "15"});
  const Json game = json({"--num-samples", "4", "--max-new-tokens", "15", "--regex", "([a-h][1-8][a-h][1-8][qrbn]? ){1,3}"});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(std::regex_match(free["samples"][i]["text"].get<std::string>(), moves));
    const std::string text = game["samples"][i]["text"];
    EXPECT_TRUE(std::regex_match(text + (game["samples"][i]["ended"] == "length" ? "a1a1 " : ""), moves) || text.size() == 15) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("^[a-h][1-8][a-h][1-8][qrbn]? "))) << text;
  }
  EXPECT_EQ(game,
            json({"--num-samples", "4", "--max-new-tokens", "15", "--regex", "([a-h][1-8][a-h][1-8][qrbn]? ){1,3}", "--threads", "1"}));
  // Choices, also of several options.
  const Json chosen = json({"--num-samples", "8", "--temperature", "5", "--choice", "yes,no", "--choice", "may be", "--logprobs"});
  std::set<std::string> texts;
  for (const Json& sample : chosen["samples"]) {
    texts.insert(sample["text"]);
    EXPECT_EQ(sample["ended"], "end");
    EXPECT_EQ(sample["log_probabilities"].size(), sample["tokens"].size());
  }
  for (const std::string& text : texts) {
    EXPECT_TRUE(text == "yes" || text == "no" || text == "may be") << text;
  }
  EXPECT_GT(texts.size(), 1U);
  // A schema, for each prompt of a file and in a session.
  here_.write("form.json",
              R"({"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"enum": [1, 2]}}, "required": ["b", "a"]})");
  for (const Words& words : {Words{"--prompts", "-"}, Words{"--interactive"}}) {
    const Outcome answered = sample(with(words, {"--schema", "form.json"}), {.input = "\"the lamp\"\n"});
    ASSERT_EQ(answered.code, 0) << answered.err;
    const std::string text = words.size() == 2 ? Json::parse(answered.out)["samples"][0]["text"].get<std::string>() : answered.out;
    const Json object = Json::parse(text);
    EXPECT_TRUE(object["b"].is_boolean() && object["a"].is_number()) << text;
  }
}

TEST_F(SampleTest, AFormThatIsCutIsReported) {
  const auto notes = [&](const Words& more) {
    const Outcome outcome = sample(more, {.input = "{\"prompt\": \"the\"}\n{\"prompt\": \"lamp\"}\n"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return lines_with(outcome.err, "--max-new-tokens");
  };
  const Words form = {"--regex", "[0-9]{20}", "--max-new-tokens"};
  for (const Words& words : {Words{"--prompt", "the"}, {"--prompt", "the", "--json"}, {"--prompts", "-"}, {"--interactive"}}) {
    const Words cut = notes(with(with(words, form), {"5"}));
    ASSERT_EQ(cut.size(), words[0] == "--interactive" ? 2U : 1U) << words[0];
    EXPECT_TRUE(contains(cut[0], words[0] == "--prompts" ? "2 texts" : "1 text")) << cut[0];
    EXPECT_TRUE(notes(with(with(words, form), {"20"})).empty()) << words[0];
    EXPECT_TRUE(notes(with(words, {"--max-new-tokens", "5"})).empty()) << "no form";
  }
}

TEST_F(SampleTest, AFormThatIsNotPossibleIsRefused) {
  here_.write("text.json", "no JSON");
  here_.write("list.json", "[1]");
  here_.write("not.json", R"({"properties": {"a": {"multipleOf": 3}}})");
  const std::pair<Words, Words> cases[] = {
      {{"--regex", "(a"}, {"--regex", "byte 0"}},
      {{"--regex", "(?=a)b"}, {"--regex"}},
      {{"--regex", ""}, {"--regex"}},
      {{"--regex", "a", "--choice", "b"}, {"--regex", "--choice"}},
      {{"--regex", "a", "--schema", "not.json"}, {"--regex", "--schema"}},
      {{"--choice", "a,,b"}, {"--choice", "a,,b"}},
      {{"--choice", "a,b", "--choice", "c,a"}, {"--choice", "\"a\""}},
      {{"--choice", "a,\xFF"}, {"--choice", "UTF-8"}},
      {{"--schema", "text.json"}, {"--schema", "JSON"}},
      {{"--schema", "list.json"}, {"--schema"}},
      {{"--schema", "not.json"}, {"--schema", "properties.a.multipleOf"}},
      {{"--schema", "none.json"}, {"none.json"}},
      {{"--regex", "a", "--ignore-end"}, {"--regex", "--ignore-end"}},
  };
  for (const auto& [words, fragments] : cases) {
    expect_refused(here_, with({"sample", "run"}, words), fragments);
  }
  here_.write("letters.toml",
              "[model]\nn_layer = 1\nn_head = 1\nn_embd = 8\nblock_size = 8\n[tokenizer]\nkind = \"char\"\n"
              "[data]\ncorpus = [\"text.txt\"]\n[train]\nmax_steps = 1\nbatch_size = 2\n");
  ASSERT_EQ(here_.run({"train", "--config", "letters.toml", "--out", "letters"}).code, 0);
  expect_refused(here_, {"sample", "letters", "--choice", "QQ,ZZ"}, {"--choice"});
  EXPECT_EQ(here_.run({"sample", "letters", "--choice", "QQ,the", "--prompt", "a"}).out, "athe\n") << "the only one that it can write";
}

}  // namespace
}  // namespace dikkat::testing
