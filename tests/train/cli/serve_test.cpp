#include "tests/support/http_client.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

/// `dikkat serve` of a run, from its start to its end.
class Serving {
 public:
  Serving(const Workspace& here, const Words& more = {}, Start start = {}, const std::string& run = "run")
      : program_(here.here(words(run, more), std::move(start))) {
    EXPECT_TRUE(program_.until([&] { return contains(program_.out(), "\n"); })) << program_.err();
    said_ = Json::parse(program_.out(), nullptr, false);
  }
  std::string url() const { return said_.value("url", ""); }
  const Json& said() const { return said_; }
  HttpReply post(const std::string& path, const Json& body, const std::string& headers = {}) const {
    return ask(url(), post_request(path, body.dump(), headers));
  }
  Program& program() { return program_; }
  Outcome end(int signal = SIGINT) {
    program_.send(signal);
    return program_.wait();
  }

 private:
  static Words words(const std::string& run, const Words& more) {
    Words all = {"serve", run, "--port", "0", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Program program_;
  Json said_;
};

TEST(Serve, AnswersUntilItIsInterrupted) {
  const Workspace here;
  here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=270", "model.block_size=48"});
  for (const int signal : {SIGINT, SIGTERM}) {
    Serving serving(here, {"--newest"});
    EXPECT_EQ(serving.said()["model"], "run");
    EXPECT_EQ(serving.said()["base_url"], serving.url() + "v1");
    const HttpReply text = serving.post("/v1/completions", {{"prompt", "the lamp"}, {"max_tokens", 5}, {"temperature", 0}});
    EXPECT_EQ(text.status, 200) << text.body;
    const Json answer = Json::parse(text.body);
    EXPECT_TRUE(answer["system_fingerprint"].get<std::string>().find("-step-20-") != std::string::npos) << text.body;
    const Json sampled = Json::parse(
        here.run({"sample", "run", "--newest", "--prompt", "the lamp", "--max-new-tokens", "5", "--temperature", "0", "--json"}).out);
    EXPECT_EQ(answer["choices"][0]["text"], sampled["samples"][0]["text"]) << "as dikkat sample continues it";
    const HttpReply chat =
        serving.post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "ships"}}}}, {"max_tokens", 4}});
    EXPECT_EQ(chat.status, 200) << chat.body;
    EXPECT_EQ(ask(serving.url(), get_request("/\x1b[31m")).status, 400) << "a control character";
    EXPECT_EQ(ask(serving.url(), get_request("/%1b[31m")).status, 404);
    const Outcome ended = serving.end(signal);
    EXPECT_EQ(ended.code, 0) << ended.err;
    expect_named(ended.err, {serving.url(), "POST /v1/completions 200", " 5 "});
    EXPECT_FALSE(contains(ended.err, "\x1b[31m")) << "text from strangers is made harmless for the terminal";
  }
}

TEST(Serve, RefusesASystemMessageThatLeavesNoRoom) {
  const Workspace here;
  here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=270", "model.block_size=48", "train.max_steps=1"});
  expect_refused(here, {"serve", "run", "--port", "0", "--system", tiny_text(100)}, {"--system", " 48 "});
}

TEST(Serve, WithoutATokenThatEndsTextsContinuesThem) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});  // of the tokenizer of bytes
  Serving serving(here, {"--name", "mine", "--quiet"});
  EXPECT_EQ(serving.said()["model"], "mine");
  EXPECT_EQ(serving.post("/v1/completions", {{"model", "mine"}, {"prompt", "the"}}).status, 200);
  const HttpReply chat = serving.post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "ships"}}}}});
  EXPECT_EQ(chat.status, 400);
  EXPECT_TRUE(contains(chat.body, "tokenizer")) << chat.body;
  const Outcome ended = serving.end();
  EXPECT_EQ(ended.code, 0);
  expect_named(ended.err, {"tokenizer.kind", "\"bpe\""});
  EXPECT_FALSE(contains(ended.err, "POST")) << "--quiet: " << ended.err;
}

TEST(Serve, WantsTheKeyThatItIsGiven) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  Serving option(here, {"--api-key", "secret"}), variable(here, {}, {.environment = {{"DIKKAT_API_KEY", "hidden"}}}),
      open(here, {"--host", "0.0.0.0"});
  const Json body = {{"prompt", "a"}};
  EXPECT_EQ(option.post("/v1/completions", body).status, 401);
  EXPECT_EQ(option.post("/v1/completions", body, "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(variable.post("/v1/completions", body, "Authorization: Bearer hidden\r\n").status, 200);
  EXPECT_EQ(variable.post("/v1/completions", body, "Authorization: Bearer secret\r\n").status, 401);
  EXPECT_TRUE(contains(open.end().err, "--api-key"));
  EXPECT_FALSE(contains(option.end().err, "--api-key"));
}

TEST(Serve, PlansItsMemory) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  const Serving one(here, {"--parallel", "1", "--prompt-cache", "0"}), half(here, {"--parallel", "3", "--cache", "bf16"}), any(here);
  EXPECT_EQ(one.said()["parallel"], 1);
  EXPECT_EQ(one.said()["prompt_cache_bytes"], 0);
  EXPECT_EQ(half.said()["parallel"], 3);
  EXPECT_LT(half.said()["stream_bytes"], one.said()["stream_bytes"]);
  EXPECT_GE(half.said()["cache_bytes"], 3 * half.said()["stream_bytes"].get<std::int64_t>());
  EXPECT_EQ(any.said()["parallel"], 8) << "there is memory for more";
  EXPECT_GT(any.said()["weights_bytes"], 0);
  for (const Serving* serving : {&one, &half, &any}) {
    EXPECT_EQ(serving->post("/v1/completions", {{"prompt", "the"}, {"n", 3}}).status, 200);
  }
  expect_refused(here, {"serve", "run", "--cache", "f16"}, {"--cache", "f16", "bf16"});
  expect_refused(here, {"serve", "run", "--prompt-cache", "2 bananas"}, {"--prompt-cache", "2 bananas", "512MB"});
  expect_refused(here, {"serve", "run", "--prompt-cache", "900000TB"}, {"--prompt-cache"});
}

TEST(Serve, LetsRunningAnswersEndWithinTheGrace) {
  const Workspace here;
  here.write("text.txt", tiny_text(3000));
  here.train("run", {"train.max_steps=1", "model.block_size=4096"});
  for (const bool is_long : {true, false}) {
    Serving serving(here, {"--grace", is_long ? "60" : "0"});
    HttpClient client(serving.url());
    client.send(post_request("/v1/completions", R"({"prompt": "a", "max_tokens": 4000, "stream": true})"));
    client.read("data: ");
    const Outcome ended = serving.end(SIGTERM);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(contains(client.read(), is_long ? "[DONE]" : "shutting_down"), true);
  }
  Serving serving(here, {"--grace", "60"});
  HttpClient client(serving.url());
  client.send(post_request("/v1/completions", R"({"prompt": "a", "max_tokens": 4000, "n": 8, "stream": true})"));
  client.read("data: ");
  serving.program().send(SIGTERM);
  EXPECT_TRUE(serving.program().until([&] { return contains(serving.program().err(), "60 s"); }));
  EXPECT_EQ(serving.end(SIGTERM).code, 128 + SIGTERM) << "the second signal";
}

TEST(Serve, OffersSeveralAdaptersOverOneBase) {
  // Trains two runs of adapters, and compares their answers with those of the same runs in a server of their own.
  const Workspace here;
  here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=270", "model.block_size=48", "model.dropout=0"});
  std::string text;  // which is learned quickly
  for (int i = 0; i < 500; ++i) {
    text += "the lamp and the ships at night ";
  }
  here.write("new.txt", text);
  const auto tune = [&](const std::string& out, const Words& settings) {
    Words words = {"train",
                   "--init-from",
                   "run",
                   "--corpus",
                   "new.txt",
                   "--out",
                   out,
                   "--set",
                   "optim.warmup_steps=0",
                   "optim.learning_rate=0.02",
                   "train.max_steps=25",
                   "train.batch_size=4",
                   "train.eval_tokens=64"};
    words.insert(words.end(), settings.begin(), settings.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  tune("one", {"lora.rank=2"});
  tune("two", {"lora.rank=3", "lora.targets=[\"attention\"]", "train.seed=7"});
  tune("three", {"lora.rank=2", "lora.modules_to_save=embedding,head", "train.seed=8"});
  const Json request = {{"prompt", "the lamp"}, {"max_tokens", 8}, {"temperature", 0}, {"logprobs", 0}};
  const auto scores = [&](const Serving& serving, const std::string& model) {
    Json named = request;
    named["model"] = model;
    const HttpReply reply = serving.post("/v1/completions", named);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Json answer = Json::parse(reply.body);
    EXPECT_EQ(answer["model"], model);
    return answer["choices"][0]["logprobs"]["token_logprobs"].get<std::vector<double>>();
  };
  Serving all(here, {"--adapter", "first=one", "--adapter", "second=two", "--adapter", "third=three"});
  EXPECT_EQ(all.said()["model"], "run");
  EXPECT_EQ(all.said()["models"], (Json{"run", "first", "second", "third"}));
  const Serving base(here);
  EXPECT_EQ(scores(all, "run"), scores(base, "run"));
  EXPECT_NE(scores(all, "first"), scores(all, "run"));
  EXPECT_NE(scores(all, "second"), scores(all, "first"));
  EXPECT_NE(scores(all, "third"), scores(all, "first"));
  for (const auto& [name, run] : {std::pair("first", "one"), std::pair("second", "two"), std::pair("third", "three")}) {
    const Serving alone(here, {"--name", name}, {}, run);
    const std::vector<double> expected = scores(alone, name), found = scores(all, name);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-4) << name << ": the adapters are added to the weights there";
    }
  }
  EXPECT_EQ(all.post("/v1/completions", {{"prompt", "a"}, {"model", "one"}}).status, 404);
  const Outcome ended = all.end();
  EXPECT_EQ(ended.code, 0);
  expect_named(ended.err, {"run, first, second, third"});

  // Adapters that cannot be served over this base are refused.
  here.train("other", {"tokenizer.kind=bpe", "tokenizer.vocab_size=270", "model.block_size=48", "train.seed=99"});
  expect_refused(here, {"serve", "run", "--adapter", "one"}, {"--adapter", "one", "NAME"});
  expect_refused(here, {"serve", "run", "--adapter", "a=one", "--adapter", "a=two"}, {"--adapter", "a=two"});
  expect_refused(here, {"serve", "run", "--adapter", "run=one"}, {"--adapter", "run=one"});
  expect_refused(here, {"serve", "run", "--adapter", "a=nothing"}, {"nothing"});
  expect_refused(here, {"serve", "run", "--adapter", "a=other"}, {"other", "lora.rank"});
  expect_refused(here, {"serve", "other", "--adapter", "a=one"}, {"one", "hash"});
  expect_refused(here, {"serve", "one", "--adapter", "a=two"}, {"one"});
}

TEST(Serve, RefusesAnAddressThatItCannotListenAt) {
  const Workspace here;
  here.train("run", {"train.max_steps=1", "tokenizer.kind=bpe", "tokenizer.vocab_size=270"});
  expect_refused(here, {"serve", "run", "--host", "203.0.113.7"}, {"203.0.113.7", "8080"});
  Serving first(here);
  const std::string port = first.url().substr(first.url().rfind(':') + 1);
  expect_refused(here, {"serve", "run", "--port", port.substr(0, port.size() - 1)}, {"127.0.0.1", port.substr(0, port.size() - 1)});
}

}  // namespace
}  // namespace dikkat::testing
