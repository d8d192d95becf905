#include <filesystem>

#include "tests/support/http_client.h"
#include "tests/train/cli/workspace.h"

// Classifiers: finetune --labels, eval, classify, serve, export, and what they refuse.
namespace dikkat::testing {
namespace {

class Classifying : public ::testing::Test {
 protected:
  Classifying() {
    std::string table = "Message,Category\n", lists;
    for (int i = 0; i < 120; ++i) {
      const bool is_spam = i % 3 == 0;
      table += concat(i % 2 == 0 ? "the ships" : "by night", is_spam ? " lamp " : " turns ", i % 7, is_spam ? ",spam\n" : ",ham\n");
      lists += Json{{"text", concat(i % 2 == 0 ? "go " : "at ", is_spam ? "lamp" : "ships")},
                    {"label", is_spam && i % 2 == 0 ? Json{"go", "spam"}
                              : is_spam             ? Json{"spam"}
                              : i % 2 == 0          ? Json{"go"}
                                                    : Json::array()}}
                   .dump() +
               "\n";
    }
    here.write("mails.csv", table);
    here.write("lists.jsonl", lists);
    here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=32", "train.max_steps=4"});
  }
  Words tuning(const std::string& out, const Words& more = {}) const {
    return with({"finetune", "base", "--data", "mails.csv", "--columns", "text=Message", "--labels", "Category", "--out", out, "--set",
                 "data.val_fraction=0.25", "optim.learning_rate=1e-2", "train.max_steps=40", "train.eval_interval=20"},
                more);
  }

  Workspace here;
};

TEST_F(Classifying, FromTheTableToLabels) {
  const Outcome tuned = here.run(tuning("tuned"));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"90 texts", "30 texts", "accuracy", "dikkat classify tuned"});
  const std::vector<Json> metrics = here.metrics("tuned");
  EXPECT_EQ(metrics.back()["decided_by"], "macro_f1");
  EXPECT_EQ(metrics.back()["table"]["labels"], (Json{"ham", "spam"}));
  EXPECT_GT(metrics.back()["macro_f1"], 0.9);

  // eval measures the whole validation part, and other files.
  const Json own = Json::parse(here.run({"eval", "tuned", "--newest", "--json"}).out);
  EXPECT_EQ(own["texts"], 30);
  EXPECT_EQ(own["accuracy"], metrics.back()["accuracy"]);
  EXPECT_EQ(own["table"], metrics.back()["table"]);
  const Outcome shown = here.run({"eval", "tuned"});
  expect_named(shown.out, {"accuracy", "macro_f1", "calibration_error", "ham", "spam"});
  here.write("others.csv", "text,label\nthe ships lamp 1,spam\nby night turns 2,ham\nby night turns 3,spam\n");
  const Json others =
      Json::parse(here.run({"eval", "tuned", "--corpus", "others.csv", "--columns", "text=text", "--labels", "label", "--json"}).out);
  EXPECT_EQ(others["table"]["confusion"], (Json{{1, 0}, {1, 1}}));

  // classify reads tables, lines and JSONL.
  here.write("new.csv", "Message\nthe ships lamp 5\nby night turns 6\n");
  const Outcome labels = here.run({"classify", "tuned", "new.csv"});
  EXPECT_EQ(labels.code, 0) << labels.err;
  std::istringstream rows(labels.out);
  std::string row;
  Words first;
  while (std::getline(rows, row)) {
    first.push_back(row.substr(0, row.find(',')));
  }
  EXPECT_EQ(first, (Words{"label", "spam", "ham"}));
  const Outcome piped = here.run({"classify", "tuned", "-", "--json"}, {.input = "the ships lamp 5\n"});
  const Json answer = Json::parse(piped.out);
  EXPECT_EQ(answer["label"], "spam");
  EXPECT_NEAR(answer["probabilities"]["ham"].get<double>() + answer["probability"].get<double>(), 1, 1e-12);

  // The run is an ordinary one.
  EXPECT_EQ(here.run({"report", "tuned"}).code, 0);
  EXPECT_TRUE(contains(contents(here / "tuned/report.html"), R"("confusion":[[)"));
  EXPECT_EQ(here.run({"merge", "tuned", "--out", "merged"}).code, 0);
  EXPECT_EQ(here.run({"inspect", "tuned"}).code, 0);
  const Outcome vectors = here.run({"embed", "tuned", "-"}, {.input = "the ships lamp 5\n"});
  EXPECT_EQ(Json::parse(vectors.out)["embedding"].size(), 32U);
  expect_named(vectors.err, {"tuned", "classifier", "dikkat classify"});
  const Json merged = Json::parse(here.run({"classify", "merged", "-", "--json"}, {.input = "the ships lamp 5\n"}).out);
  EXPECT_EQ(merged["label"], "spam");

  // What a classifier cannot do is refused.
  expect_refused(here, {"sample", "tuned", "--prompt", "the"}, {"tuned", "classifier", "dikkat classify"});
  expect_refused(here, {"chat", "tuned"}, {"tuned", "classifier"});
  here.write("questions.jsonl", R"({"prompt": "the", "choices": ["a", "b"], "answer": 0})");
  expect_refused(here, {"eval", "tuned", "--tasks", "questions.jsonl"}, {"tuned", "classifier"});
  expect_refused(here, {"eval", "base", "--tasks", "questions.jsonl", "--beside", "tuned"}, {"tuned", "classifier"});
  expect_refused(here, {"eval", "tuned", "--stride", "4"}, {"tuned", "--stride"});
  expect_refused(here, {"export", "tuned", "--out", "tuned.gguf"}, {"gguf", "2 labels", "hf"});
  expect_refused(here, {"export", "tuned", "--out", "tuned.bin"}, {"llm.c", "2 labels", "hf"});
  expect_refused(here, {"export", "tuned", "--adapter", "--out", "adapter"}, {"model.classes"});
  expect_refused(here, {"finetune", "tuned", "--data", "text.txt", "--full", "--out", "no"}, {"classify.field", "model.classes"});
  expect_refused(here, {"classify", "base", "new.csv"}, {"base", "--labels"});
  expect_refused(here, {"classify", "tuned", "new.csv", "--columns", "text=Message,txt=Id"}, {"--columns", "txt=Id", "text"});
  expect_refused(here, {"eval", "tuned", "--corpus", "mails.csv", "--columns", "text=Message,txt=Id"}, {"--columns", "txt=Id", "Category"});
  expect_refused(here, {"eval", "tuned", "--corpus", "mails.csv", "--objective", "embedding"}, {"tuned", "--objective", "classifier"});
  for (const Words& option : {Words{"--system", "Be brief."},
                              {"--template", "plain"},
                              {"--feedback", "new.jsonl"},
                              {"--cache", "bf16"},
                              {"--parallel", "2"},
                              {"--prompt-cache", "1MB"}}) {
    expect_refused(here, with({"serve", "tuned", "--newest", "--port", "0"}, option), {option[0], "classifier"});
  }
  here.write("bad.csv", "Message\nthe\n\" \"\n");
  expect_refused(here, {"classify", "tuned", "bad.csv"}, {"bad.csv", "row 3"});
  here.write("empty.csv", "Message,Id\nthe,1\n,\nthe,3\n");
  expect_refused(here, {"classify", "tuned", "empty.csv"}, {"empty.csv", "row 3"});
  here.write("other.json", R"({"data": ["a"]})");
  expect_refused(here, {"classify", "tuned", "other.json"}, {"other.json", "\"Message\"", "--columns"});
  here.write("two/a.txt", "one\n");
  here.write("two/b.csv", "Message\ntwo\n");
  expect_refused(here, {"classify", "tuned", "two"}, {"two", "one file", "b.csv"});
  const Outcome objects = here.run({"classify", "tuned", "-"}, {.input = R"({"Message": "the ships lamp 5"})"
                                                                         "\n"
                                                                         R"({"Message": "by night turns 6"})"
                                                                         "\n"});
  EXPECT_EQ(objects.out, labels.out) << objects.err;
  EXPECT_EQ(here.run({"resume", "tuned", "--set", "train.max_steps=42"}).code, 0);
}

TEST_F(Classifying, IsExportedAndReadAgain) {
  ASSERT_EQ(here.run(tuning("tuned", {"train.max_steps=12"})).code, 0);
  const Outcome exported = here.run({"export", "tuned", "--out", "hf"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const Json config = Json::parse(contents(here / "hf/config.json"));
  EXPECT_EQ(config["architectures"], Json{"GPT2ForSequenceClassification"});
  EXPECT_EQ(config["id2label"], (Json{{"0", "ham"}, {"1", "spam"}}));
  EXPECT_EQ(config["label2id"], (Json{{"ham", 0}, {"spam", 1}}));
  EXPECT_EQ(config["problem_type"], "single_label_classification");
  const auto classify = [&](const std::string& model) {
    return here.run({"classify", model, "-", "--json"}, {.input = "the ships lamp 5\nby night\ngo\n"}).out;
  };
  EXPECT_EQ(classify("hf"), classify("tuned"));
  const Json again =
      Json::parse(here.run({"eval", "hf", "--corpus", "mails.csv", "--columns", "text=Message,label=Category", "--json"}).out);
  EXPECT_EQ(again["texts"], 120);
  // Its labels may have names from transformers.
  Json other = config;
  other.erase("id2label");
  other.erase("problem_type");
  here.write("hf/config.json", other.dump());
  EXPECT_EQ(Json::parse(lines_with(classify("hf"), "LABEL")[0])["probabilities"].begin().key(), "LABEL_0");
  other["problem_type"] = "regression";
  here.write("hf/config.json", other.dump());
  expect_refused(here, {"classify", "hf", "text.txt"}, {"config.json", "problem_type", "regression"});
}

TEST_F(Classifying, GivesSeveralLabels) {
  const Words words = {"finetune",
                       "base",
                       "--data",
                       "lists.jsonl",
                       "--labels",
                       "label",
                       "--full",
                       "--out",
                       "tuned",
                       "--set",
                       "optim.learning_rate=1e-2",
                       "train.max_steps=40",
                       "data.val_fraction=0.25",
                       "classify.weights=balanced"};
  const Outcome tuned = here.run(words);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(Json::parse(here.run({"eval", "tuned", "--json"}).out)["accuracy"], 1);
  const Outcome labels = here.run({"classify", "tuned", "-"}, {.input = "go lamp\nat ships\n"});
  EXPECT_TRUE(labels.out.starts_with("labels,go,spam\ngo;spam,0.")) << labels.out;
  EXPECT_TRUE(contains(labels.out, "\n,0.")) << labels.out;
  ASSERT_EQ(here.run({"export", "tuned", "--out", "hf"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "hf/config.json"))["problem_type"], "multi_label_classification");
  const Words json = {"classify", "hf", "-", "--json"};
  EXPECT_EQ(Json::parse(here.run(json, {.input = "go lamp\n"}).out)["labels"], (Json{"go", "spam"}));
}

TEST_F(Classifying, IsServed) {
  ASSERT_EQ(here.run(tuning("tuned")).code, 0);
  Program server(here.here({"serve", "tuned", "--port", "0", "--json"}));
  ASSERT_TRUE(server.until([&] { return contains(server.out(), "\n"); })) << server.err();
  const std::string url = Json::parse(server.out())["url"];
  const auto post = [&](const std::string& path, const Json& body) { return ask(url, post_request(path, body.dump(), "")); };
  for (const char* path : {"/classify", "/v1/classify"}) {
    const HttpReply reply = post(path, {{"model", "tuned"}, {"input", {"the ships lamp 5", "by night turns 6"}}});
    ASSERT_EQ(reply.status, 200) << reply.body;
    const Json answer = Json::parse(reply.body);
    EXPECT_EQ(answer["object"], "list");
    EXPECT_EQ(answer["data"][0]["label"], "spam");
    EXPECT_EQ(answer["data"][1]["label"], "ham");
    EXPECT_EQ(answer["data"][1]["index"], 1);
    EXPECT_EQ(answer["data"][0]["num_classes"], 2);
    EXPECT_NEAR(answer["data"][0]["probs"][0].get<double>() + answer["data"][0]["probs"][1].get<double>(), 1, 1e-12);
    EXPECT_EQ(answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"]);
  }
  EXPECT_EQ(Json::parse(post("/classify", {{"input", "by night turns 6"}}).body)["data"][0]["label"], "ham");
  EXPECT_EQ(post("/classify", {{"model", "other"}, {"input", "a"}}).status, 404);
  for (const Json& bad : {Json{{"input", 7}}, Json::object(), Json{{"input", Json::array()}}, Json{{"input", ""}}, Json{{"inputs", "a"}},
                          Json{{"input", std::string(4000, 'x')}}}) {
    const HttpReply reply = post("/classify", bad);
    EXPECT_EQ(reply.status, 400) << bad.dump().substr(0, 50);
    EXPECT_TRUE(contains(reply.body, "input")) << reply.body;
  }
  const HttpReply text = post("/v1/completions", {{"prompt", "the"}});
  EXPECT_EQ(text.status, 400);
  EXPECT_TRUE(contains(text.body, "/classify"));
  EXPECT_EQ(ask(url, get_request("/v1/models")).status, 200);
  server.send(SIGINT);
  EXPECT_EQ(server.wait().code, 0);
}

TEST_F(Classifying, IsSwept) {
  const auto swept = [&](const Words& more) {
    return here.run(with({"sweep", "--corpus", "mails.csv", "--vary", "optim.learning_rate=1e-2,1e-9", "--no-halving", "--out"}, more));
  };
  const Words set = {"--set",
                     "train.init_from=base",
                     "classify.field=Category",
                     "data.columns=[\"text=Message\"]",
                     "train.max_steps=10",
                     "train.eval_interval=10",
                     "data.val_fraction=0.25",
                     "optim.warmup_steps=0"};
  const Json found = json_of(swept(with({"swept", "--json"}, set)));
  ASSERT_EQ(found["combinations"].size(), 2U);
  for (const Json& row : found["combinations"]) {
    EXPECT_EQ(row["decided_by"], "macro_f1");
    EXPECT_EQ(row["macro_f1"], here.metrics(concat("swept/", row["name"].get<std::string>())).back()["macro_f1"]);
    EXPECT_FALSE(row.contains("rewards_accuracy"));
  }
  const Outcome shown = swept(with({"swept"}, set));
  expect_named(shown.out, {"macro_f1"});
  EXPECT_EQ(Json::parse(lines_with(contents(here / "swept/results.jsonl"), "1e-9").at(0))["decided_by"], "macro_f1");
}

TEST_F(Classifying, RefusesBadRowsAndWritesNothing) {
  const auto refused = [&](const std::string& name, const std::string& text, const Words& fragments) {
    here.write(name, text);
    expect_refused(here, {"finetune", "base", "--data", name, "--labels", "label", "--out", "no"}, fragments);
  };
  refused("once.csv", "text,label\na,ham\nb,spam\nc,ham\n", {"once.csv", "row 3", "spam"});
  refused("one.csv", "text,label\na,ham\nb,ham\n", {"one.csv", "row 2", "ham"});
  refused("empty.csv", "text,label\na,ham\n,spam\nb,spam\n", {"empty.csv", "row 3"});
  refused("column.csv", "text,kind\na,ham\n", {"column.csv", "label", "kind"});
  expect_refused(here, {"finetune", "base", "--data", "mails.csv", "--labels", "Category", "--out", "no"},
                 {"mails.csv", "\"text\"", "Message"});
  expect_refused(here, tuning("no", {"train.sample_prompts=[\"the\"]"}), {"train.sample_prompts", "classify.field"});
  expect_refused(here,
                 {"finetune", "base", "--data", "mails.csv", "--labels", "Category", "--columns", "text=Message,lable=Id", "--out", "no"},
                 {"--columns", "lable=Id", "Category"});
  here.write("labels.jsonl", "{\"text\": \"a\", \"labels\": \"x\"}\n{\"text\": \"b\", \"labels\": \"y\"}\n");
  expect_refused(here, {"finetune", "base", "--data", "labels.jsonl", "--out", "no"}, {"labels.jsonl: line 1", "--labels labels"});
  refused("nul.jsonl", "{\"text\": \"a\\u0000\", \"label\": \"x\"}\n", {"nul.jsonl: line 1", "\\u0000"});
  expect_refused(here, {"finetune", "base", "--data", "lists.jsonl", "--labels", "label", "--out", "no", "--set", "classify.several=false"},
                 {"lists.jsonl: line 1", "classify.several"});
  // A text that is longer than a window is cut, and a note names the first one.
  here.write("long.csv", contents(here / "mails.csv") + std::string(400, 'x') + ",ham\n");
  Words words = tuning("long", {"train.max_steps=1", "data.val_fraction=0"});
  words[3] = "long.csv";
  const Outcome cut = here.run(words);
  EXPECT_EQ(cut.code, 0) << cut.err;
  expect_named(cut.err, {"row 122", "model.block_size"});
  // Few texts for validation are counted as texts.
  const Outcome few = here.run(tuning("few", {"train.max_steps=1", "data.val_fraction=0.05"}));
  EXPECT_EQ(few.code, 0) << few.err;
  ASSERT_EQ(lines_with(few.err, "data.val_fraction").size(), 1U) << few.err;
  expect_named(lines_with(few.err, "data.val_fraction")[0], {"6 texts"});
}

}  // namespace
}  // namespace dikkat::testing
