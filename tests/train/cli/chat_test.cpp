#include "tests/train/cli/terminal.h"
#include "tests/train/cli/workspace.h"

// Fine-tuning on conversations, and chatting with the result.
namespace dikkat::testing {
namespace {

constexpr const char* kChats =
    R"({"messages": [{"role": "user", "content": "the lamp"}, {"role": "assistant", "content": "turns"}]}
{"messages": [{"role": "user", "content": "ships"}, {"role": "assistant", "content": "go by"}, {"role": "user", "content": "and"}, {"role": "assistant", "content": "at night"}]}

{"prompt": "ships", "completion": "go by"}
{"text": "the ships go by at night."}
{"prompt": "the lamp turns and ships go by the lamp turns and ships go by the lamp turns and ships go by the lamp turns", "completion": "cut"}
{"prompt": "the lamp", "completion": "turns"}
{"prompt": "ships", "completion": "go by"}
{"prompt": "the lamp", "completion": "turns"}
)";

class Chat : public ::testing::Test {
 protected:
  Chat() {
    here.write("chats.jsonl", kChats);
    here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=32"});
  }
  /// Trains a run whose context has room for a conversation.
  void train_wide() const {
    here.train("wide", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=96"});
  }
  Outcome tune(const std::string& out, const Words& more = {}) const { return tune_from("base", out, more); }
  Outcome tune_from(const std::string& base, const std::string& out, const Words& more) const {
    Words words = {"train",
                   "--init-from",
                   base,
                   "--corpus",
                   "chats.jsonl",
                   "--out",
                   out,
                   "--set",
                   "train.max_steps=40",
                   "train.batch_size=4",
                   "train.eval_interval=20",
                   "train.checkpoint_interval=20",
                   "data.val_fraction=0.3",
                   "optim.learning_rate=1e-2",
                   "optim.warmup_steps=1"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  }
  Workspace here;
};

TEST_F(Chat, LearnsOnlyAnswersAndReportsIt) {
  const Outcome tuned = tune("tuned");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err,
               {"plain", "chat.template", "chat.loss", "4 examples", "3 windows", "2 of 5 ", " 32 ", "model.block_size", "1 of 5 "});
  const auto metrics = here.metrics("tuned");
  EXPECT_LT(metrics.back()["val_loss"].get<double>(), metrics.front()["val_loss"].get<double>());
  EXPECT_TRUE(contains(contents(here / "tuned/config.toml"), "template = \"plain\""));
  const Json evaluated = Json::parse(here.run({"eval", "tuned", "--json"}).out);
  EXPECT_NEAR(evaluated["loss"].get<double>(), metrics.back()["val_loss"].get<double>(), 1e-6);
  EXPECT_EQ(here.run({"eval", "tuned", "--corpus", "chats.jsonl"}).code, 0);
}

// Runs that learn different tokens are compared over the same tokens, or not at all.
TEST_F(Chat, LossesAreComparedOverTheSameTokensOnly) {
  ASSERT_EQ(tune("answers").code, 0);
  ASSERT_EQ(tune("all", {"chat.loss=all"}).code, 0);
  const Json differ = Json::parse(here.run({"runs", "diff", "answers", "all", "--json"}).out);
  EXPECT_EQ(differ["comparison"], "other targets");
  EXPECT_TRUE(differ["better"].is_null()) << differ["better"];
  EXPECT_NE(differ["runs"][0]["scored"]["targets"], differ["runs"][1]["scored"]["targets"]);
  expect_named(here.run({"runs", "diff", "answers", "all"}).out, {"chat.loss", "answers", "all"});

  const auto score = [&](const std::string& run, const Words& more = {}) {
    Words words = {"eval", run, "--newest", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(here.run(words).out);
  };
  EXPECT_EQ(score("all")["scored"], differ["runs"][1]["scored"]) << "the run's evaluations draw from the whole validation part";
  EXPECT_EQ(score("all", {"--score", "answers"})["scored"], score("answers")["scored"]);
  EXPECT_NE(score("all", {"--score", "answers"})["loss"], score("all")["loss"]);
  expect_refused(here, {"eval", "all", "--score", "some"}, {"--score", "some", "last_answer"});
  expect_refused(here, {"eval", "base", "--score", "all"}, {"--score"});  // a text has no answers

  ASSERT_EQ(tune("judged", {"chat.loss=all", "chat.eval_loss=answers"}).code, 0);
  const Json same = Json::parse(here.run({"runs", "diff", "answers", "judged", "--json"}).out);
  EXPECT_EQ(same["comparison"], "same");
  EXPECT_FALSE(same["better"].is_null());
  const auto of = [&](const std::string& run) { return here.metrics(run); };
  EXPECT_EQ(of("judged")[1]["loss"], of("all")[1]["loss"]) << "it learns the tokens of `all`";
  EXPECT_EQ(of("judged").front()["event"], "eval");
  EXPECT_EQ(of("judged").front()["val_loss"], of("answers").front()["val_loss"])
      << "and is scored as `answers`, before the first step by the same weights";
  EXPECT_EQ(of("judged").front()["train_loss"], of("answers").front()["train_loss"]);
}

TEST_F(Chat, ASweepRefusesToChooseBetweenLossesOverOtherTokens) {
  const auto sweep = [&](const std::string& out, const Words& more) {
    Words words = {"sweep",
                   "--init-from",
                   "base",
                   "--corpus",
                   "chats.jsonl",
                   "--out",
                   out,
                   "--json",
                   "--vary",
                   "chat.loss=answers,all",
                   "--no-halving",
                   "--set",
                   "train.max_steps=4",
                   "train.batch_size=4",
                   "train.eval_interval=4",
                   "data.val_fraction=0.3",
                   "optim.warmup_steps=1"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  };
  const Outcome refused = sweep("mixed", {});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(contains(refused.err, "chat.eval_loss")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(here / "mixed")) << "before anything was trained";
  const Outcome judged = sweep("judged", {"chat.eval_loss=answers"});
  EXPECT_EQ(judged.code, 0) << judged.err;
  EXPECT_EQ(Json::parse(judged.out)["combinations"].size(), 2U);
}

TEST_F(Chat, ComesNextAfterFinetune) {
  const Outcome tuned = here.run({"finetune", "base", "--data", "chats.jsonl", "--out", "tuned", "--set", "train.max_steps=2",
                                  "optim.warmup_steps=1", "data.val_fraction=0.3"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"dikkat chat tuned"});
  EXPECT_EQ(tuned.out, "tuned\n");
}

TEST_F(Chat, ReportsCutExamplesForValidationToo) {
  const std::string longer = "the lamp turns and ships go by the lamp turns and ships go by the lamp turns and ships go by";
  here.write("chats.jsonl", std::string(kChats) + Json{{"prompt", longer}, {"completion", "x"}}.dump());
  const Outcome tuned = tune("tuned", {"train.max_steps=1"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(lines_with(tuned.err, "1 of 3 ").size(), 2U) << "one is cut, and one is left out: " << tuned.err;
  expect_named(tuned.err, {"1 of 6 ", " 32 ", "model.block_size"});
}

TEST_F(Chat, AValidationPartThatTakesAllExamplesIsNamed) {
  here.write("chats.jsonl", R"({"prompt": "the lamp", "completion": "turns"})");
  const Outcome refused = tune("no");
  EXPECT_EQ(refused.code, 2);
  expect_named(refused.err, {"/chats.jsonl", " 1 ", "data.val_fraction", "0.3"});
  const Words all = {"train", "--init-from", "base",  "--corpus",          "chats.jsonl",
                     "--out", "one",         "--set", "train.max_steps=1", "data.val_fraction=0"};
  EXPECT_EQ(here.run(all).code, 0);
  here.write("chats.jsonl",
             Json{{"prompt", tiny_text()}, {"completion", "x"}}.dump() + "\n" + R"({"prompt": "the lamp", "completion": "turns"})");
  const Outcome longer = tune("no");
  EXPECT_EQ(longer.code, 2);
  expect_named(longer.err, {"/chats.jsonl", "model.block_size", " 32"});
}

TEST_F(Chat, ResumesToTheSameBits) {
  ASSERT_EQ(tune("whole").code, 0);
  ASSERT_EQ(tune("parts", {"train.max_steps=20", "optim.decay_steps=40"}).code, 0);
  const Outcome resumed = here.run({"resume", "parts", "--set", "train.max_steps=40"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(here.metrics("parts").back()["val_loss"], here.metrics("whole").back()["val_loss"]);
}

TEST_F(Chat, NamesTheLineThatItRefuses) {
  here.write("chats.jsonl", std::string(kChats) + "{\"messages\": 7}\n");
  const Outcome refused = tune("no");
  EXPECT_EQ(refused.code, 2);
  expect_named(refused.err, {"/chats.jsonl", "line 10", "messages", " 7"});
  here.write("chats.jsonl", std::string(kChats) + "{\"messages\": [}\n");
  const Outcome broken = tune("no");
  expect_named(broken.err, {"/chats.jsonl", "line 10", "column 15", "JSON", "'}'"});
  EXPECT_FALSE(std::filesystem::exists(here / "no"));
}

TEST_F(Chat, TakesTextsAndConversationsInAnyOrder) {
  const std::string text = "{\"text\": \"the ships go by at night.\"}\n";
  const std::string chat = R"({"prompt": "ships", "completion": "go by"})"
                           "\n";
  std::string chats;
  for (int i = 0; i < 8; ++i) {
    chats += chat;
  }
  for (const std::string& lines : {text + chats, chats + text, text + text + chats}) {
    here.write("chats.jsonl", lines);
    const Outcome tuned = tune("tuned-" + std::to_string(lines.size()) + (lines.starts_with(text) ? "t" : "c"), {"train.max_steps=1"});
    EXPECT_EQ(tuned.code, 0) << tuned.err;
    expect_named(tuned.err, {"chat.loss"});
    EXPECT_EQ(here.run({"corpus", "inspect", "chats.jsonl", "--chat", "--tokenizer", "base"}).code, 0);
  }
}

TEST_F(Chat, ReportsABadLineAlikeInEveryCommand) {
  for (const char* line : {"{\"messages\": [}", "[1]", "{\"mesages\": []}"}) {
    here.write("chats.jsonl", std::string(line) + "\n" + kChats);
    const Outcome tuned = tune("no"), seen = here.run({"corpus", "inspect", "chats.jsonl", "--chat", "--tokenizer", "base"});
    EXPECT_EQ(tuned.code, 2);
    EXPECT_EQ(seen.code, 2);
    expect_named(seen.err, {"/chats.jsonl", "line 1"});
    EXPECT_TRUE(contains(tuned.err, seen.err)) << tuned.err << seen.err;
  }
  here.write("chats.jsonl", "{\"text\": \"once\"}\n");
  expect_refused(here, {"corpus", "inspect", "chats.jsonl", "--chat", "--tokenizer", "base"}, {"chats.jsonl", "\"messages\""});
}

TEST_F(Chat, ReportsAModelThatHasNotLearnedToEndItsAnswers) {
  const Outcome tuned = tune("adapters", {"lora.rank=2", "train.max_steps=2", "train.eval_interval=1"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const double probability = here.metrics("adapters").back()["end_probability"].get<double>();
  EXPECT_GT(probability, 0);
  EXPECT_LT(probability, 0.1);
  expect_named(tuned.err, {"warning", "--full", "optim.learning_rate"});
  const Outcome unmeasured = tune("unmeasured", {"lora.rank=2", "train.max_steps=2", "data.val_fraction=0"});
  expect_named(unmeasured.err, {"warning", "end token", "--full", "optim.learning_rate"});
  const Outcome full = tune("full", {"train.max_steps=150"});
  EXPECT_GT(here.metrics("full").back()["end_probability"].get<double>(), 0.1);
  EXPECT_FALSE(contains(full.err, "end token")) << full.err;
  EXPECT_FALSE(contains(tune("long", {"train.max_steps=150", "data.val_fraction=0"}).err, "end token"));
}

// A base that knows its text well has never seen the end token. Adapters leave the rows of embedding and head as they are.
TEST_F(Chat, LearnsToEndItsAnswersIfEmbeddingAndHeadAreTrainedBesideTheAdapters) {
  here.train("sure", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=32", "model.dropout=0",
                      "train.gradient_accumulation_steps=1", "train.max_steps=300"});
  const auto adapt = [&](const std::string& out, const Words& more) {
    Words words = {"lora.rank=2", "train.max_steps=100", "optim.learning_rate=5e-3", "train.gradient_accumulation_steps=1"};
    words.insert(words.end(), more.begin(), more.end());
    return tune_from("sure", out, words);
  };
  const Outcome adapters = adapt("adapters", {});
  ASSERT_EQ(adapters.code, 0) << adapters.err;
  EXPECT_LT(here.metrics("adapters").back()["end_probability"].get<double>(), 0.05);
  expect_named(adapters.err, {"warning", "lora.modules_to_save=embedding,head", "--full"});
  const Outcome saved = adapt("saved", {"lora.modules_to_save=embedding,head"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_GT(here.metrics("saved").back()["end_probability"].get<double>(), 0.9);
  EXPECT_FALSE(contains(saved.err, "end token")) << saved.err;
}

TEST_F(Chat, LearnsNoAnswerThatTheDataExempts) {
  here.write(
      "marked.jsonl",
      R"({"messages": [{"role": "user", "content": "the lamp"}, {"role": "assistant", "content": "bad", "weight": 0}, {"role": "user", "content": "and"}, {"role": "assistant", "content": "go"}]}
{"prompt": "ships", "completion": "bad", "label": false, "id": 7}
{"prompt": "ships", "completion": "go by"}
)");
  // The inspection shows which tokens are scored.
  const Outcome seen = here.run({"corpus", "inspect", "marked.jsonl", "--chat", "--tokenizer", "base", "--json"});
  ASSERT_EQ(seen.code, 0) << seen.err;
  const Json object = Json::parse(seen.out);
  ASSERT_EQ(object["examples"].size(), 3U);
  const auto scored = [&](std::size_t i) {
    std::ptrdiff_t count = 0;
    for (const Json& one : object["examples"][i]["scored"]) {
      count += one.get<bool>() ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(scored(1), 0);
  EXPECT_GT(scored(2), 0);
  EXPECT_LT(scored(0), 2 + 2) << "\"go\" and its end, and nothing of \"bad\"";
  ASSERT_EQ(object["notes"].size(), 3U) << seen.out;

  // Training and evaluation report the same notes.
  const Outcome tuned = here.run(
      {"train", "--init-from", "base", "--corpus", "marked.jsonl", "--out", "tuned", "--set", "train.max_steps=1", "data.val_fraction=0"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"1 example", "1 window"});
  const Outcome evaluated = here.run({"eval", "tuned", "--corpus", "marked.jsonl"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  for (const Json& note : object["notes"]) {
    EXPECT_TRUE(contains(tuned.err, note.get<std::string>())) << note << tuned.err;
    EXPECT_TRUE(contains(evaluated.err, note.get<std::string>())) << note << evaluated.err;
  }

  // Files without anything to learn, or with tool calls, are refused.
  here.write("none.jsonl", R"({"prompt": "ships", "completion": "bad", "label": false})");
  expect_refused(here, {"train", "--init-from", "base", "--corpus", "none.jsonl", "--out", "no", "--set", "data.val_fraction=0"},
                 {"/none.jsonl"});
  here.write("tools.jsonl",
             R"({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}]})");
  expect_refused(here, {"train", "--init-from", "base", "--corpus", "tools.jsonl", "--out", "no"},
                 {"/tools.jsonl", "line 1", "messages[1].tool_calls"});
}

TEST_F(Chat, Answers) {
  ASSERT_EQ(tune("tuned", {"train.max_steps=150", "train.eval_interval=150"}).code, 0);
  const Outcome answered = here.run({"chat", "tuned", "--newest", "--temperature", "0"}, {.input = "the lamp\nships\n"});
  ASSERT_EQ(answered.code, 0) << answered.err;
  EXPECT_TRUE(answered.out.starts_with("turns\n")) << answered.out;
}

TEST_F(Chat, IsExportedWithItsTemplate) {
  ASSERT_EQ(tune("tuned").code, 0);
  const auto answers = [&](const std::string& model, const Words& more = {}) {
    Words words = {"chat", model, "--temperature", "0", "--max-new-tokens", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words, {.input = "the lamp\nships\n"});
  };
  const std::string own = answers("tuned").out;
  for (const std::string out : {"tuned-hf", "tuned.gguf"}) {
    ASSERT_EQ(here.run({"export", "tuned", "--out", out}).code, 0);
    const Outcome foreign = answers(out);
    EXPECT_EQ(foreign.code, 0) << foreign.err;
    EXPECT_EQ(foreign.out, own) << out;
  }
  here.write("tuned-hf/generation_config.json", R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95})");
  EXPECT_EQ(answers("tuned-hf").out, own) << "at temperature 0, the owner's limits do not count";
  Json config = Json::parse(contents(here / "tuned-hf/tokenizer_config.json"));
  ASSERT_TRUE(config.contains("chat_template"));
  config["chat_template"] = "{{ something_else }}";
  here.write("tuned-hf/tokenizer_config.json", config.dump());
  const Outcome unknown = answers("tuned-hf");
  EXPECT_EQ(unknown.code, 2);
  expect_named(unknown.err, {"--template", "chatml", "llama3", "plain"});
  EXPECT_EQ(answers("tuned-hf", {"--template", "plain"}).out, own);
  expect_refused(here, {"finetune", "tuned-hf", "--data", "chats.jsonl", "--out", "no"}, {"chats.jsonl", "message 1"});
}

TEST_F(Chat, IsAskedQuestions) {
  ASSERT_EQ(tune("tuned", {"train.max_steps=150", "train.eval_interval=150"}).code, 0);
  here.write("tasks.jsonl", R"({"prompt": "the lamp", "choices": ["turns", "go by", "night"], "answer": 0}
{"prompt": "ships", "choices": ["turns", "go by"], "answer": 1}
{"prompt": "the lamp", "answer": "turns"}
{"prompt": "ships", "answer": "something else"}
)");
  const Outcome asked = here.run({"eval", "tuned", "--newest", "--tasks", "tasks.jsonl", "--json"});
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json answers = Json::parse(asked.out);
  EXPECT_EQ(answers["choices"]["right"], 2) << asked.out;
  EXPECT_EQ(answers["choices"]["questions"], 2);
  EXPECT_EQ(answers["exact_match"]["right"], 1) << asked.out;
  EXPECT_NEAR(answers["exact_match"]["low"].get<double>(), 0.0945, 1e-3) << "Wilson's interval of 1 in 2";
  EXPECT_NEAR(answers["exact_match"]["high"].get<double>(), 0.9055, 1e-3);
  EXPECT_NEAR(answers["exact_match"]["standard_error"].get<double>(), 0.5, 1e-12) << "of 0 and 1";

  // An exported model is asked in its template too.
  ASSERT_EQ(here.run({"export", "tuned", "--newest", "--out", "tuned.gguf"}).code, 0);
  const Outcome exported = here.run({"eval", "tuned.gguf", "--tasks", "tasks.jsonl", "--json"});
  EXPECT_EQ(Json::parse(exported.out, nullptr, false)["exact_match"], answers["exact_match"]) << exported.err;

  // Some questions should be refused.
  here.write("refusals.jsonl", R"({"prompt": "the lamp", "refuse": true}
{"prompt": "ships", "refuse": true}
{"prompt": "ships", "refuse": false}
{"prompt": "the lamp", "answer": "turns"}
)");
  const Words refusals = {"eval", "tuned", "--newest", "--tasks", "refusals.jsonl"};
  Words with_text = refusals;
  with_text.insert(with_text.end(), {"--refusal", "I cannot", "--refusal", "turns", "--json"});
  const Outcome refused = here.run(with_text);
  ASSERT_EQ(refused.code, 0) << refused.err;
  const Json shares = Json::parse(refused.out);
  EXPECT_EQ(shares["refused"]["right"], 1) << refused.out;
  EXPECT_EQ(shares["refused"]["questions"], 2);
  EXPECT_EQ(shares["answered"]["right"], 1) << refused.out;
  EXPECT_EQ(shares["answered"]["questions"], 2);
  EXPECT_EQ(shares["exact_match"]["right"], 1) << refused.out;
  expect_refused(here, refusals, {"refusals.jsonl", "line 1", "\"refuse\"", "--refusal"});

  // A model beside it has its own template.
  const Outcome compared = here.run({"eval", "tuned", "--newest", "--tasks", "tasks.jsonl", "--beside", "base", "--json"});
  ASSERT_EQ(compared.code, 0) << compared.err;
  const Json both = Json::parse(compared.out);
  EXPECT_EQ(both["exact_match"], answers["exact_match"]);
  EXPECT_EQ(both["difference"]["exact_match"]["difference"],
            both["exact_match"]["share"].get<double>() - both["beside"]["exact_match"]["share"].get<double>());

  here.write("tasks.jsonl", "{\"prompt\": \"x\", \"choices\": [\"a\", \"b\"], \"answer\": 2}\n");
  expect_refused(here, {"eval", "tuned", "--tasks", "tasks.jsonl"}, {"tasks.jsonl", "line 1", "\"answer\"", " 2", "1"});
  here.write("tasks.jsonl", "{\"prompt\": \"x\"");
  expect_refused(here, {"eval", "tuned", "--tasks", "tasks.jsonl"}, {"tasks.jsonl", "line 1", "column 15", "JSON"});
}

TEST_F(Chat, ShortDocumentsThatShareAWindowHaveTheirSeparateLosses) {
  std::string lines;
  for (const char* text :
       {"the lamp turns", "ships go by at night", "and", "at night the ships go by", "turns and turns and turns", "go"}) {
    for (int i = 0; i < 5; ++i) {
      lines += Json{{"text", std::string(text) + tiny_text(i)}}.dump() + '\n';
    }
  }
  here.write("short.jsonl", lines);
  const auto first_loss = [&](const std::string& pack) {
    const Outcome run = here.run({"train", "--init-from", "base", "--corpus", "short.jsonl", "--out", pack, "--set", "data.pack=" + pack,
                                  "train.max_steps=1", "train.batch_size=2", "train.eval_tokens=0", "data.val_fraction=0.5"});
    EXPECT_EQ(run.code, 0) << run.err;
    return here.metrics(pack).front()["val_loss"].get<double>();
  };
  const double alone = first_loss("document");
  EXPECT_NEAR(first_loss("best_fit"), alone, 1e-5 * alone);
  EXPECT_GT(std::abs(first_loss("stream") - alone), 1e-3) << "there they see each other";
}

TEST_F(Chat, CommandsAreNotMessages) {
  train_wide();
  const Outcome talked = here.run({"chat", "wide", "--max-new-tokens", "3"},
                                  {.input = "/help\n/nothing\n/system be kind\n/history\n/system\n/clear\n/quit\nnever\n"});
  ASSERT_EQ(talked.code, 0) << talked.err;
  expect_named(talked.err, {"/clear", "/exit", "/quit", "/nothing"});
  EXPECT_EQ(talked.out, "system: be kind\n");
  const auto lines = [&](const std::string& commands) {
    const std::string err = here.run({"chat", "wide"}, {.input = commands}).err;
    return std::count(err.begin(), err.end(), '\n');
  };
  for (const char* command : {"/system be kind\n", "/system\n", "/clear\n"}) {
    EXPECT_EQ(lines(command), lines("") + 1) << command << " is confirmed";
  }
}

TEST_F(Chat, RefusesAMessageThatDoesNotFitAndContinues) {
  train_wide();
  std::string line = tiny_text(100);
  std::replace(line.begin(), line.end(), '\n', ' ');
  const Outcome talked = here.run({"chat", "wide", "--max-new-tokens", "4", "--quiet"},
                                  {.input = "the lamp\n" + line + "\n/system " + line + "\n/history\nships\n/history\n"});
  ASSERT_EQ(talked.code, 0) << talked.err;
  EXPECT_EQ(std::count(talked.err.begin(), talked.err.end(), '\n'), 2) << "the message and the system message: " << talked.err;
  EXPECT_EQ(lines_with(talked.err, " 92 ").size(), 2U) << "the room beside an answer of 4: " << talked.err;
  EXPECT_EQ(lines_with(talked.err, " 96 ").size(), 2U) << talked.err;
  EXPECT_FALSE(contains(talked.out, line.substr(0, 20)));
  EXPECT_FALSE(contains(talked.out, "system: "));
  const std::size_t first = talked.out.find("user: the lamp\nassistant: ");
  ASSERT_NE(first, std::string::npos) << talked.out;
  EXPECT_NE(talked.out.find("user: the lamp\nassistant: ", first + 1), std::string::npos)
      << "and it continues with the next message: " << talked.out;
  expect_refused(here, {"chat", "wide", "--system", line}, {"--system", " 72 ", " 96 "});
}

TEST_F(Chat, ContinuesAfterAnAnswerThatIsNotText) {
  train_wide();
  const Outcome talked =
      here.run({"chat", "wide", "--max-new-tokens", "12", "--temperature", "50", "--quiet"}, {.input = "the lamp\nships\n/history\n"});
  EXPECT_EQ(talked.code, 0);
  EXPECT_EQ(talked.err, "") << "bytes that are not text, which it draws at this temperature, are in no later prompt";
  EXPECT_TRUE(contains(talked.out, "\xEF\xBF\xBD")) << "but are shown as U+FFFD: " << talked.out;
}

TEST_F(Chat, ReportsThatAnAnswerWasCut) {
  train_wide();
  const auto remark = [&](Words words) { return here.run(words, {.input = "the lamp\n"}).err; };
  EXPECT_TRUE(contains(remark({"chat", "wide", "--max-new-tokens", "2"}), " 2 tokens"));
  EXPECT_EQ(remark({"chat", "wide", "--max-new-tokens", "2", "--quiet"}), "");
  ASSERT_EQ(tune("tuned", {"train.max_steps=150", "train.eval_interval=150"}).code, 0);
  EXPECT_FALSE(contains(remark({"chat", "tuned", "--newest", "--temperature", "0"}), " tokens")) << "it ended on its own";
}

// The tokenizer's own end of texts is another token, and special tokens are not drawn.
TEST_F(Chat, EndsAtASpecialTokenThatOnlyTheTemplateNames) {
  ASSERT_EQ(here.run({"export", "base", "--out", "hf"}).code, 0);
  Json tokenizer = Json::parse(contents(here / "hf/tokenizer.json")), config = Json::parse(contents(here / "hf/tokenizer_config.json"));
  Json& vocabulary = tokenizer["model"]["vocab"];
  Json added = tokenizer["added_tokens"][0];
  const int id = added["id"].get<int>() - 1;
  const auto last = std::find_if(vocabulary.begin(), vocabulary.end(), [&](const Json& one) { return one == id; });
  ASSERT_NE(last, vocabulary.end());
  vocabulary.erase(last);
  tokenizer["model"]["merges"].erase(tokenizer["model"]["merges"].size() - 1);
  vocabulary["<turn>"] = id;
  added["content"] = "<turn>", added["id"] = id;
  tokenizer["added_tokens"].push_back(added);
  config["chat_template"] =
      "{% for m in messages %}{{ m['role'] + ':' + m['content'] + '<turn>' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}";
  here.write("hf/tokenizer.json", tokenizer.dump());
  here.write("hf/tokenizer_config.json", config.dump());
  const Outcome tuned = tune_from("hf", "tuned", {"train.max_steps=150", "train.eval_interval=150"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Outcome chat = here.run({"chat", "tuned", "--newest", "--temperature", "0"}, {.input = "the lamp\n"});
  EXPECT_TRUE(contains(chat.out, "turns")) << chat.out;
  EXPECT_FALSE(contains(chat.err, " tokens")) << "it ended on its own: " << chat.err;
  here.write("tasks.jsonl", R"({"prompt": "the lamp", "answer": "turns"})");
  const Outcome asked = here.run({"eval", "tuned", "--newest", "--tasks", "tasks.jsonl", "--json"});
  EXPECT_EQ(Json::parse(asked.out, nullptr, false)["exact_match"]["right"], 1) << asked.out << asked.err;
  const Outcome answered =
      here.run({"sample", "tuned", "--newest", "--messages", "-", "--temperature", "0"}, {.input = R"({"prompt": "the lamp"})"});
  EXPECT_EQ(Json::parse(answered.out, nullptr, false)["answer"], "turns") << answered.out << answered.err;
}

TEST_F(Chat, AtATerminalNamesItsModel) {
  train_wide();
  Terminal terminal;
  Program program(here.here(
      {"chat", "wide", "--newest"},
      {.environment = {{"TERM", "dumb"}, {"XDG_STATE_HOME", here.path() + "/state"}}, .in = terminal.name(), .err = terminal.name()}));
  ASSERT_TRUE(program.until([&] { return terminal.prompts() >= 1; })) << terminal.shown();
  expect_named(terminal.shown(), {"wide", "step 20", "plain", " 96 "});
  terminal.type("/exit\r");
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_FALSE(contains(here.run({"chat", "wide"}, {.input = ""}).err, "plain")) << "without a terminal nobody needs it";
}

TEST_F(Chat, TakesAMessageOfSeveralLines) {
  train_wide();
  const Words words = {"chat", "wide", "--max-new-tokens", "1", "--quiet"};
  const auto messages = [&](const std::string& input) {
    const Outcome talked = here.run(words, {.input = input + "/history\n"});
    EXPECT_EQ(talked.code, 0) << talked.err;
    std::string all = talked.out;
    return all.substr(all.find("user: "));
  };
  EXPECT_TRUE(contains(messages("\"\"\"\nthe lamp\n\nturns\n\"\"\"\n"), "user: the lamp\n\nturns\nassistant: "));
  EXPECT_TRUE(contains(messages("\"\"\"the lamp\nturns\"\"\"\n"), "user: the lamp\nturns\nassistant: "));
  EXPECT_TRUE(contains(messages("\"\"\"/clear\"\"\"\n"), "user: /clear\nassistant: ")) << "it is a message";
  EXPECT_TRUE(contains(messages("the lamp\r\n"), "user: the lamp\nassistant: ")) << "lines of Windows";
  const Outcome broken = here.run(words, {.input = "\"\"\"\nthe lamp\n"});
  EXPECT_EQ(broken.code, 2);
  expect_named(broken.err, {"dikkat: ", "\"\"\""});
  EXPECT_EQ(broken.out, "");
  EXPECT_TRUE(contains(here.run({"chat", "wide"}, {.input = "/help\n"}).err, "\"\"\""));
}

TEST_F(Chat, TakesPastedLinesAsOneMessage) {
  train_wide();
  Terminal terminal;
  Program program(here.here(
      {"chat", "wide", "--newest", "--max-new-tokens", "1"},
      {.environment = {{"TERM", "xterm"}, {"XDG_STATE_HOME", here.path() + "/state"}}, .in = terminal.name(), .err = terminal.name()}));
  ASSERT_TRUE(program.until([&] { return terminal.prompts() >= 1; })) << terminal.shown();
  EXPECT_TRUE(contains(terminal.shown(), "\033[?2004h"));
  terminal.type("\033[200~the lamp\rturns\nships\n\033[201~ go\r");
  const auto answered = [&] { return terminal.shown().find("\033[?2004h", terminal.shown().rfind("\033[?2004l")) != std::string::npos; };
  ASSERT_TRUE(program.until([&] { return contains(terminal.shown(), "\033[?2004l") && answered(); })) << terminal.shown();
  terminal.type("/history\r");
  terminal.type("/exit\r");
  const Outcome ended = program.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(contains(ended.out, "user: the lamp\nturns\nships go\nassistant: ")) << ended.out;
}

TEST_F(Chat, DropsTheOldestTurns) {
  train_wide();
  const Outcome talked =
      here.run({"chat", "wide", "--max-new-tokens", "4"}, {.input = "one two three\nfour five six\nseven eight nine\nten eleven\n"});
  ASSERT_EQ(talked.code, 0) << talked.err;
  expect_named(talked.err, {" 96 ", " 2 "});
}

}  // namespace
}  // namespace dikkat::testing
