#include "train/web/serve/completion_server.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "tests/support/http_client.h"
#include "tests/support/sentence_piece.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "tests/train/web/serve/prometheus_text.h"
#include "tests/train/web/serve/small_model.h"
#include "train/system/machine_memory.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::ask;
using testing::get_request;
using testing::HttpClient;
using testing::HttpReply;
using testing::post_request;

constexpr index kVocabulary = SmallModel::kVocabulary;
constexpr const char* kText = "/v1/completions";
constexpr const char* kChat = "/v1/chat/completions";

/// A server that runs until the end of the test.
class Running {
 public:
  explicit Running(const SmallModel& model, CompletionServer::Options options = {}) : Running(model.served(), std::move(options)) {}
  explicit Running(ServedModel model, CompletionServer::Options options = {})
      : Running(std::vector<ServedModel>{std::move(model)}, std::move(options)) {}
  explicit Running(std::vector<ServedModel> models, CompletionServer::Options options = {}) {
    options.port = 0;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + '\n';
    };
    server_ = std::make_unique<CompletionServer>(std::move(models), options);
    thread_ = std::thread([this] { server_->serve([this] { return ends_.load(); }); });
    EXPECT_EQ(get("/health").status, 200);
  }
  ~Running() { end(); }
  void end() {
    ends_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  std::string url() const { return server_->url(); }
  HttpReply get(const std::string& path, const std::string& headers = {}) const { return ask(url(), get_request(path, headers)); }
  HttpReply post(const std::string& path, const json& body) const { return ask(url(), post_request(path, body.dump())); }
  json answer(const std::string& path, const json& body) const {
    const HttpReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body, nullptr, false);
  }
  /// The objects of a stream, which must end with [DONE].
  std::vector<json> events(const std::string& path, json body) const {
    body["stream"] = true;
    const HttpReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n")) << reply.body;
    std::vector<json> objects;
    std::string rest = reply.body.substr(0, reply.body.find("data: [DONE]"));
    while (!rest.empty()) {
      const std::size_t end = rest.find("\n\n");
      EXPECT_TRUE(rest.starts_with("data: "));
      objects.push_back(json::parse(rest.substr(6, end - 6), nullptr, false));
      EXPECT_TRUE(objects.back().is_object()) << rest;
      rest = rest.substr(end + 2);
    }
    return objects;
  }
  bool has_logged(const std::string& part) {
    for (int i = 0; i < 2000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (log_.find(part) != std::string::npos) {
          return true;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::string log_;
  std::atomic<bool> ends_ = false;
  std::unique_ptr<CompletionServer> server_;
  std::thread thread_;
};

const json kHello = json::array({{{"role", "user"}, {"content", "hello"}}});

TEST(CompletionServer, ContinuesATextAndAnswersAConversation) {
  Running server(small_model());
  const json text = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 9}, {"seed", 3}});
  EXPECT_EQ(text["object"], "text_completion");
  EXPECT_EQ(text["model"], "tiny");
  EXPECT_EQ(text["system_fingerprint"], "print");
  EXPECT_EQ(text["seed"], 3);
  for (const char* seed : {"-1", "-9223372036854775808", "9007199254740993", "18446744073709551615"}) {
    const json echoed = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 1}, {"seed", json::parse(seed)}});
    EXPECT_EQ(echoed["seed"].dump(), seed) << "as it was sent";
  }
  EXPECT_EQ(text["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(
      text["usage"],
      (json{{"prompt_tokens", 4}, {"completion_tokens", 9}, {"total_tokens", 13}, {"prompt_tokens_details", {{"cached_tokens", 0}}}}));
  EXPECT_TRUE(server.has_logged("POST /v1/completions 200, 4 prompt tokens, 9 generated, "));

  const json chat = server.answer(kChat, {{"messages", kHello}, {"seed", 3}, {"temperature", 2}});
  EXPECT_EQ(chat["object"], "chat.completion");
  EXPECT_EQ(chat["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(chat["choices"][0]["finish_reason"], "length") << "bytes have no token that ends an answer: " << chat;
  EXPECT_EQ(chat["usage"]["prompt_tokens"], std::string("<user>hello\n<assistant>").size());

  EXPECT_EQ(server.answer(kText, {{"prompt", "Once"}})["usage"]["completion_tokens"], 16) << "the protocol's default";
  EXPECT_EQ(server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 100'000}})["usage"]["total_tokens"], 400) << "the context";
  EXPECT_EQ(server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 0}, {"echo", true}})["choices"][0]["text"], "Once");
}

TEST(CompletionServer, ReportsItsModelAndHealth) {
  const Running server(small_model());
  EXPECT_EQ(server.get("/health").body, R"({"status":"ok"})");
  EXPECT_EQ(json::parse(server.get("/v1/models").body)["data"][0]["id"], "tiny");
  EXPECT_EQ(json::parse(server.get("/v1/models/tiny").body)["context_length"], 400);
  EXPECT_EQ(server.get("/v1/models/other").status, 404);
  const HttpReply page = server.get("/");
  EXPECT_NE(page.head.find("text/html"), std::string::npos);
  EXPECT_NE(page.body.find(R"({"feedback":false,"chat":true,"thinking":false})"), std::string::npos);
}

TEST(CompletionServer, KeepsRatingsIfItHasAFile) {
  const json rating = {
      {"prompt", kHello}, {"completion", {{{"role", "assistant"}, {"content", "hi"}}}}, {"label", true}, {"model", "tiny"}};
  {
    const Running server(small_model());
    EXPECT_EQ(server.post("/feedback", rating).status, 404);
  }
  const TemporaryFolder folder;
  const Running server(small_model(), {.api_key = "secret", .feedback = folder / "ratings.jsonl"});
  EXPECT_NE(server.get("/").body.find(R"({"feedback":true,)"), std::string::npos) << "the page itself needs no key";
  EXPECT_EQ(server.post("/feedback", rating).status, 401);
  const std::string key = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(ask(server.url(), post_request("/feedback", rating.dump(), key)).status, 200);
  EXPECT_EQ(ask(server.url(), post_request("/feedback", "{}", key)).status, 400);
  EXPECT_EQ(ask(server.url(), get_request("/feedback", key)).status, 405);
  std::string line, other;
  std::ifstream file(folder / "ratings.jsonl");
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_FALSE(std::getline(file, other));
  const json kept = json::parse(line, nullptr, false);
  EXPECT_EQ(kept["prompt"], kHello);
  EXPECT_EQ(kept["completion"][0]["content"], "hi");
  EXPECT_EQ(kept["label"], true);
  EXPECT_EQ(kept["model"], "tiny");

  CompletionServer::Options options{.port = 0, .feedback = folder / "no" / "ratings.jsonl"};
  const ServedModel model = small_model().served();
  EXPECT_THROW(CompletionServer({model}, options), InputError);
}

TEST(CompletionServer, ShowsHowTextsBecomeTokens) {
  Running server(small_model());
  const json tokens = server.answer("/tokenize", {{"content", "Once"}});
  EXPECT_EQ(tokens["tokens"], (json{'O', 'n', 'c', 'e'}));
  EXPECT_EQ(server.answer("/detokenize", {{"tokens", tokens["tokens"]}})["content"], "Once");
  EXPECT_EQ(server.answer("/apply-template", {{"messages", kHello}})["prompt"], "<user>hello\n<assistant>");
  const HttpReply refused = server.post("/tokenize", {{"text", "Once"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["param"], "text");
  EXPECT_TRUE(server.has_logged("POST /tokenize 400, "));
}

TEST(CompletionServer, HonorsPenaltiesAndBiases) {
  const Running server(small_model());
  const json forced = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 5}, {"logit_bias", {{"120", 100}}}, {"logprobs", 0}});
  EXPECT_EQ(forced["choices"][0]["text"], "xxxxx");
  EXPECT_LT(forced["choices"][0]["logprobs"]["token_logprobs"][0], -0.1) << "the model's own";
  json request = {{"messages", kHello}, {"max_tokens", 100}, {"temperature", 0}};
  const auto distinct = [&] {
    const std::string text = server.answer(kChat, request)["choices"][0]["message"]["content"];
    return std::set<char>(text.begin(), text.end()).size();
  };
  const std::size_t before = distinct();
  request["frequency_penalty"] = 2;
  request["presence_penalty"] = 2;
  EXPECT_GT(distinct(), before);
  const HttpReply unknown = server.post(kText, {{"prompt", "a"}, {"logit_bias", {{"256", 1}}}});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_TRUE(testing::names(unknown.body, {"logit_bias", "256", "255"}));
}

TEST(CompletionServer, CountsWhatItDoes) {
  const Running server(small_model());
  const auto metrics = [&] {
    const HttpReply reply = server.get("/metrics");
    EXPECT_EQ(reply.status, 200);
    EXPECT_NE(reply.head.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos) << reply.head;
    return testing::PrometheusText(reply.body);
  };
  EXPECT_EQ(metrics().value("dikkat_generated_tokens_total"), 0);
  server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 9}});
  server.events(kChat, {{"messages", kHello}, {"max_tokens", 3}, {"n", 2}});
  server.post(kText, {{"n", 0}});
  server.get("/nothing/" + std::string(50, 'x'));
  const auto responses = [&](const testing::PrometheusText& text, const char* endpoint, int status) {
    return text.value(concat("dikkat_http_requests_total{endpoint=\"", endpoint, "\",status=\"", status, "\"}"));
  };
  for (int i = 0; i < 2000 && std::isnan(responses(metrics(), "other", 404)); ++i) {  // it is counted once it has been sent
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const testing::PrometheusText found = metrics();
  EXPECT_EQ(found.value("dikkat_prompt_tokens_total"), 4 + 2 * static_cast<double>(std::string("<user>hello\n<assistant>").size()))
      << "a prompt counts for each choice";
  EXPECT_EQ(found.value("dikkat_generated_tokens_total"), 9 + 6);
  EXPECT_EQ(found.value("dikkat_requests_running"), 0);
  EXPECT_EQ(found.value("dikkat_requests_waiting"), 0);
  EXPECT_EQ(found.value("dikkat_time_to_first_token_seconds_count"), 2);
  EXPECT_EQ(found.value("dikkat_request_duration_seconds_count"), 2);
  EXPECT_GT(found.value("dikkat_request_duration_seconds_sum"), found.value("dikkat_time_to_first_token_seconds_sum"));
  EXPECT_GT(found.value("process_resident_memory_bytes"), 1e6);
  EXPECT_EQ(responses(found, kText, 200), 1);
  EXPECT_EQ(responses(found, kText, 400), 1);
  EXPECT_EQ(responses(found, kChat, 200), 1);
  EXPECT_EQ(responses(found, "other", 404), 1);
}

TEST(CompletionServer, OffersSeveralModels) {
  SmallModel other(400);
  for (float& weight : std::span(other.store.weights<float>(), static_cast<std::size_t>(other.store.slab_size()))) {
    weight = -weight;
  }
  ServedModel second = other.served();
  second.name = "other";
  second.base = "tiny";
  EXPECT_TRUE(testing::names(testing::error_of([&] { CompletionServer({second, second}, {.port = 0}); }), {"other"}));
  const Running server({small_model().served(), second});
  const json list = json::parse(server.get("/v1/models").body)["data"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["id"], "tiny");
  EXPECT_EQ(list[1]["id"], "other");
  EXPECT_EQ(list[1]["parent"], "tiny");
  EXPECT_EQ(json::parse(server.get("/v1/models/other").body)["parent"], "tiny");

  // Each model gives the answers that it gives when it is served alone, one after another and at the same time.
  const Running only_second({second}), only_first(small_model());
  const json request = {{"prompt", "Once"}, {"max_tokens", 40}, {"seed", 2}, {"logprobs", 1}};
  const json of_first = only_first.answer(kText, request)["choices"], of_second = only_second.answer(kText, request)["choices"];
  EXPECT_NE(of_first, of_second);
  const auto ask_for = [&](const char* model) {
    json named = request;
    named["model"] = model;
    const json answer = server.answer(kText, named);
    EXPECT_EQ(answer["model"], model);
    return answer["choices"];
  };
  EXPECT_EQ(server.answer(kText, request)["choices"], of_first) << "the first one by default";
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      EXPECT_EQ(ask_for("other"), of_second);
      EXPECT_EQ(ask_for("tiny"), of_first);
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
}

TEST(CompletionServer, AnswersHaveTheFormThatIsAskedFor) {
  const Running server(small_model());
  const json schema = {
      {"type", "object"},
      {"properties", {{"name", {{"type", "string"}, {"maxLength", 8}}}, {"size", {{"type", "integer"}, {"minimum", 1}, {"maximum", 40}}}}},
      {"required", {"name", "size"}},
      {"additionalProperties", false}};
  // A model that has learned nothing writes these texts, too.
  for (int seed = 1; seed <= 5; ++seed) {
    const json chat = server.answer(
        kChat,
        {{"messages", kHello},
         {"seed", seed},
         {"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "thing"}, {"schema", schema}, {"strict", true}}}}}});
    EXPECT_EQ(chat["choices"][0]["finish_reason"], "stop") << chat;
    const json thing = json::parse(chat["choices"][0]["message"]["content"].get<std::string>());
    EXPECT_LE(thing["name"].get<std::string>().size(), 32U);
    EXPECT_TRUE(1 <= thing["size"] && thing["size"] <= 40) << thing;
    EXPECT_EQ(thing.size(), 2U);
    const json text = server.answer(
        kText, {{"prompt", "Once"}, {"max_tokens", 60}, {"seed", seed}, {"regex", "[a-f]{3,9}, 20\\d\\d"}, {"n", 3}, {"temperature", 2}});
    for (const json& choice : text["choices"]) {
      const std::string found = choice["text"];
      EXPECT_EQ(choice["finish_reason"], "stop");
      const std::size_t comma = found.find(", 20");
      EXPECT_TRUE(3 <= comma && comma <= 9 && found.size() == comma + 6) << found;
    }
    const json choice = server.answer(kText, {{"prompt", "Is it?"}, {"seed", seed}, {"guided_choice", {"yes", "no"}}});
    EXPECT_TRUE(choice["choices"][0]["text"] == "yes" || choice["choices"][0]["text"] == "no") << choice;
  }
  // Streams, and answers that are cut.
  std::string streamed;
  std::string last;
  for (const json& event : server.events(kChat, {{"messages", kHello}, {"seed", 2}, {"guided_json", schema}})) {
    const json& one = event["choices"][0];
    streamed += one["delta"].value("content", "");
    last = one["finish_reason"].is_string() ? one["finish_reason"].get<std::string>() : last;
  }
  EXPECT_TRUE(json::accept(streamed)) << streamed;
  EXPECT_EQ(last, "stop");
  const json cut = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 5}, {"response_format", {{"type", "json_object"}}}});
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(cut["choices"][0]["text"].get<std::string>().starts_with("{"));

  // Refusals.
  const auto param = [&](const json& body) {
    const HttpReply reply = server.post(kText, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return json::parse(reply.body)["error"]["param"];
  };
  EXPECT_EQ(param({{"prompt", "a"}, {"guided_json", {{"type", "object"}, {"minProperties", 2}}}}), "guided_json.minProperties");
  EXPECT_EQ(param({{"prompt", "a"}, {"regex", "(?=(?:a*b){0,900}$)(?:b*a){0,900}"}}), "regex");
  EXPECT_EQ(param({{"prompt", "a"}, {"guided_json", {{"$ref", "#"}}}}), "guided_json.$ref");
  EXPECT_EQ(param({{"prompt", "a"}, {"ebnf", "root ::= a"}}), "ebnf");
}

TEST(CompletionServer, SchemasThatAreTooLargeTakeLittleMemory) {
  const Running server(small_model());
  json names = {{"type", "object"}, {"properties", json::object()}, {"additionalProperties", {{"type", "string"}}}};
  json patterns = {{"type", "object"}, {"properties", json::object()}};
  for (int i = 0; i < 2500; ++i) {
    names["properties"][concat(std::string(250, 'x'), i)] = json::object();
  }
  for (int i = 0; i < 120; ++i) {
    patterns["properties"][concat("p", i)] = {{"type", "string"}, {"pattern", concat(i, std::string(9'000, '.'))}};
  }
  EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", names}}).status, 400);
  const std::size_t before = process_memory().resident;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", names}}).status, 400);
    EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", patterns}}).status, 400);
  }
  EXPECT_LT(process_memory().resident, before + (std::size_t{48} << 20)) << "it is given back";
  EXPECT_LT(process_memory().peak, before + (std::size_t{300} << 20));
  const HttpReply reply = server.post(kText, {{"prompt", "a"}, {"guided_json", patterns.dump()}});
  EXPECT_TRUE(json::parse(reply.body)["error"]["param"].get<std::string>().ends_with(".pattern")) << reply.body;
}

TEST(CompletionServer, RefusesInTheProtocolsForm) {
  const Running server(small_model());
  const auto error = [](const HttpReply& reply, int status) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_NE(reply.head.find("Content-Type: application/json"), std::string::npos) << reply.head;
    const json object = json::parse(reply.body, nullptr, false);
    EXPECT_TRUE(object.is_object() && object["error"]["message"].is_string() && object["error"].contains("param")) << reply.body;
    return object["error"];
  };
  const json missing = error(server.get("/other"), 404);
  EXPECT_EQ(missing["type"], "not_found_error");
  EXPECT_TRUE(testing::names(missing["message"].get<std::string>(), {"POST /v1/chat/completions", "POST /tokenize", "GET /metrics"}));
  EXPECT_EQ(missing["message"].get<std::string>().find("embeddings"), std::string::npos);
  EXPECT_EQ(error(server.post("/v1/embeddings", {{"input", "a"}}), 400)["code"], "embeddings_not_supported");
  error(server.get(kText), 405);
  EXPECT_EQ(error(server.post(kText, {{"n", 0}}), 400)["param"], "n");
  EXPECT_EQ(error(server.post(kChat, {{"messages", kHello}, {"model", "gpt-4"}}), 404)["code"], "model_not_found");
  EXPECT_EQ(error(ask(server.url(), post_request(kText, "{")), 400)["code"], "invalid_json");
  EXPECT_EQ(error(ask(server.url(), post_request(kText, std::string(kLargestRequest + 1, ' '))), 413)["type"], "invalid_request_error");
  const json long_text = error(server.post(kText, {{"prompt", std::string(400, 'x')}}), 400);
  EXPECT_EQ(long_text["code"], "context_length_exceeded");
  EXPECT_TRUE(testing::names(long_text["message"].get<std::string>(), {"prompt", "400 tokens", "context"}));
  EXPECT_EQ(server.answer(kText, {{"prompt", std::string(399, 'x')}})["usage"]["completion_tokens"], 1);
  const json long_chat = error(server.post(kChat, {{"messages", {{{"role", "user"}, {"content", std::string(500, 'x')}}}}}), 400);
  EXPECT_TRUE(testing::names(long_chat["message"].get<std::string>(), {"messages", "518 tokens", "context", "400"}));
}

TEST(CompletionServer, WithoutATemplateOnlyContinuesTexts) {
  ServedModel model = small_model().served();
  model.form.reset();
  model.why_no_form = "its tokens end no text";
  EXPECT_EQ(prompt_tokens(model, {.prompt = "ab"}).size(), 2U);
  try {
    prompt_tokens(model, {.endpoint = Endpoint::chat, .messages = {{"user", "a"}}});
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_TRUE(testing::names(error.what(), {"conversations", "its tokens end no text", "/v1/completions"}));
  }
}

TEST(CompletionServer, ASeedGivesItsText) {
  const Running server(small_model());
  const auto text = [&](json request) {
    request["prompt"] = "It was";
    request["max_tokens"] = 40;
    return server.answer(kText, request);
  };
  const json first = text({{"seed", 11}});
  EXPECT_EQ(text({{"seed", 11}})["choices"], first["choices"]);
  EXPECT_NE(text({{"seed", 12}})["choices"], first["choices"]);
  const json drawn = text({}), again = text({});
  EXPECT_NE(drawn["choices"], again["choices"]) << "without a seed one is drawn";
  EXPECT_EQ(text({{"seed", drawn["seed"]}})["choices"], drawn["choices"]) << "and reported";
  const json three = text({{"seed", 11}, {"n", 3}});
  ASSERT_EQ(three["choices"].size(), 3U);
  EXPECT_EQ(three["choices"][0], first["choices"][0]);
  EXPECT_EQ(three["choices"][2]["index"], 2);
  EXPECT_NE(three["choices"][1]["text"], three["choices"][0]["text"]);
  EXPECT_EQ(three["usage"]["completion_tokens"], 120);
  for (const int threads : {1, 2}) {
    const WithThreads with(threads, Work{0});
    EXPECT_EQ(text({{"seed", 11}})["choices"], first["choices"]);
  }
}

/// The events of a stream, combined to the form of a whole response.
json whole(const std::vector<json>& events, bool is_chat, const json& like) {
  // Begin with empty choices.
  json choices = json::array();
  for (const json& choice : like["choices"]) {
    json one = {{"index", choice["index"]}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
    is_chat ? one["message"] = {{"role", ""}, {"content", ""}, {"refusal", nullptr}} : one["text"] = "";
    choices.push_back(one);
  }
  const auto append = [](json& to, const json& from) {
    if (from.is_null()) {
      return;
    }
    if (to.is_null()) {
      to = from;
      return;
    }
    for (const auto& [name, list] : from.items()) {
      if (list.is_array()) {
        to[name].insert(to[name].end(), list.begin(), list.end());
      }
    }
  };
  // Append the parts of each event.
  for (const json& event : events) {
    for (const json& part : event["choices"]) {
      json& choice = choices[part["index"].get<std::size_t>()];
      EXPECT_TRUE(choice["finish_reason"].is_null()) << "nothing comes after the end";
      if (is_chat) {
        choice["message"]["role"] = part["delta"].value("role", choice["message"]["role"].get<std::string>());
        choice["message"]["content"] = choice["message"]["content"].get<std::string>() + part["delta"].value("content", "");
      } else {
        choice["text"] = choice["text"].get<std::string>() + part["text"].get<std::string>();
      }
      append(choice["logprobs"], part["logprobs"]);
      choice["finish_reason"] = part["finish_reason"];
    }
  }
  return choices;
}

TEST(CompletionServer, AStreamIsTheWholeAnswerInParts) {
  const Running server(small_model());
  for (const json& more :
       {json{{"seed", 1}}, json{{"seed", 2}, {"n", 2}}, json{{"seed", 3}, {"stop", {"e", "a"}}}, json{{"seed", 4}, {"temperature", 2}}}) {
    for (const bool is_chat : {false, true}) {
      json request = more;
      request["max_tokens"] = 60;
      is_chat ? request["messages"] = kHello : request["prompt"] = "Once";
      is_chat ? request["logprobs"] = true : request["logprobs"] = 2;
      if (is_chat) {
        request["top_logprobs"] = 3;
      }
      const json expected = server.answer(is_chat ? kChat : kText, request);
      request["stream_options"] = {{"include_usage", true}};
      std::vector<json> events = server.events(is_chat ? kChat : kText, request);
      ASSERT_GT(events.size(), 2U);
      for (const char* count : {"prompt_tokens", "completion_tokens", "total_tokens"}) {
        EXPECT_EQ(events.back()["usage"][count], expected["usage"][count]);
      }
      EXPECT_TRUE(events.back()["choices"].empty());
      EXPECT_TRUE(events.front()["usage"].is_null());
      events.pop_back();
      EXPECT_EQ(whole(events, is_chat, expected), expected["choices"]) << more;
    }
  }
}

TEST(CompletionServer, StopsBeforeAStopString) {
  const Running server(small_model());
  const json request = {{"prompt", "Once"}, {"max_tokens", 200}, {"seed", 6}};
  const std::string all = server.answer(kText, request)["choices"][0]["text"];
  std::size_t at = 40;  // a stop string of three ASCII tokens
  while (!std::all_of(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at) + 3,
                      [](char c) { return 32 <= c && c < 127; })) {
    ++at;
    ASSERT_LT(at + 3, all.size());
  }
  const std::string stop = all.substr(at, 3), expected = all.substr(0, all.find(stop));
  json with = request;
  with["stop"] = stop;
  with["logprobs"] = 0;
  const json stopped = server.answer(kText, with);
  EXPECT_EQ(stopped["choices"][0]["text"], expected);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  const json tokens = stopped["choices"][0]["logprobs"]["tokens"];
  EXPECT_EQ(stopped["usage"]["completion_tokens"].get<std::size_t>(), tokens.size() + 3)
      << "the stop string was generated, and is not reported";
  std::string streamed;
  for (const json& event : server.events(kText, with)) {
    streamed += event["choices"][0]["text"].get<std::string>();
    EXPECT_TRUE(expected.starts_with(streamed)) << "no part of the stop string is ever sent";
  }
  EXPECT_EQ(streamed, expected);
}

TEST(CompletionServer, LogProbabilitiesAreThoseOfTheModel) {
  // A completion's scores are those of the model, token by token.
  const Running server(small_model());
  const json answer =
      server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 12}, {"seed", 1}, {"logprobs", 5}, {"temperature", 0.7}, {"top_k", 50}});
  const json scores = answer["choices"][0]["logprobs"];
  ASSERT_EQ(scores["tokens"].size(), 12U);
  const auto bytes_of = [](const std::string& name) {
    return name.starts_with("bytes:\\x") ? std::string(1, static_cast<char>(std::stoi(name.substr(8), nullptr, 16))) : name;
  };
  std::string text = "Once";
  for (std::size_t i = 0; i < 12; ++i) {
    const std::vector<float> logits = small_model().logits(text);
    long double total = 0;
    for (const float logit : logits) {
      total += std::exp(static_cast<long double>(logit));
    }
    const auto expected = [&](const std::string& token) {
      return static_cast<double>(logits[static_cast<unsigned char>(token[0])] - std::log(total));
    };
    const std::string token = bytes_of(scores["tokens"][i]);
    ASSERT_EQ(token.size(), 1U);
    EXPECT_NEAR(scores["token_logprobs"][i].get<double>(), expected(token), 2e-4);
    const json& top = scores["top_logprobs"][i];
    EXPECT_GE(top.size(), 5U);
    EXPECT_LE(top.size(), 6U);
    double largest = -1e9;
    for (const auto& [name, value] : top.items()) {
      EXPECT_NEAR(value.get<double>(), expected(bytes_of(name)), 2e-4);
      largest = std::max(largest, value.get<double>());
    }
    EXPECT_NEAR(largest, static_cast<double>(*std::ranges::max_element(logits) - std::log(total)), 2e-4) << "the likeliest is among them";
    text += token;
  }
  // So are a conversation's.
  const json chat = server.answer(kChat, {{"messages", kHello}, {"max_tokens", 3}, {"seed", 1}, {"logprobs", true}, {"top_logprobs", 4}});
  const json first = chat["choices"][0]["logprobs"]["content"][0];
  ASSERT_EQ(first["top_logprobs"].size(), 4U);
  const std::vector<float> logits = small_model().logits("<user>hello\n<assistant>");
  long double total = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<long double>(logit));
  }
  double before = 0;
  for (const json& one : first["top_logprobs"]) {
    EXPECT_NEAR(one["logprob"].get<double>(), static_cast<double>(logits[one["bytes"][0].get<std::size_t>()] - std::log(total)), 2e-4);
    EXPECT_LE(one["logprob"].get<double>(), before) << "likeliest first";
    before = one["logprob"];
  }
}

TEST(CompletionServer, WantsItsKey) {
  const Running server(small_model(), {.api_key = "secret"});
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_EQ(server.get("/").status, 200);
  EXPECT_EQ(server.get("/v1/models").status, 401);
  EXPECT_EQ(server.get("/metrics").status, 401);
  EXPECT_EQ(server.get("/metrics", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(server.post("/tokenize", {{"content", "a"}}).status, 401);
  for (const char* wrong : {"secret", "Bearer secre", "Bearer secrets", "Bearer ", "Bearer Secret", "Basic secret"}) {
    EXPECT_EQ(server.get("/v1/models", concat("Authorization: ", wrong, "\r\n")).status, 401) << wrong;
  }
  EXPECT_EQ(server.get("/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(server.get("/v1/models", "Authorization: bearer secret\r\n").status, 200);
  EXPECT_EQ(server.post(kText, {{"prompt", "a"}}).status, 401);
  EXPECT_EQ(server.get("/v1/models", "x-api-key: secret\r\n").status, 200);
  EXPECT_EQ(server.get("/v1/models", "X-Api-Key: secret\r\nAuthorization: Bearer none\r\n").status, 200) << "one of them is right";
  for (const char* wrong : {"", "secre", "Secret", "Bearer secret"}) {
    EXPECT_EQ(server.get("/v1/models", concat("x-api-key: ", wrong, "\r\n")).status, 401) << wrong;
  }
}

TEST(CompletionServer, AnswersPathsWithoutTheirVersion) {
  const Running server(small_model());
  const json request = {{"prompt", "Once"}, {"max_tokens", 5}, {"seed", 1}};
  EXPECT_EQ(server.answer("/completions", request)["choices"], server.answer(kText, request)["choices"]);
  EXPECT_EQ(server.answer("/chat/completions", {{"messages", kHello}, {"max_tokens", 2}})["object"], "chat.completion");
  EXPECT_EQ(json::parse(server.get("/models").body), json::parse(server.get("/v1/models").body));
  EXPECT_EQ(server.get("/models/tiny").status, 200);
  EXPECT_EQ(server.post("/embeddings", {{"input", "a"}}).status, 400);
  EXPECT_EQ(server.get("/completions").status, 405);
  EXPECT_EQ(server.get("/metrics").body.find("endpoint=\"/completions\""), std::string::npos) << "both paths are one endpoint";
  EXPECT_EQ(server.get("/other").body.find(" /chat/completions"), std::string::npos) << "the list has each address once";
}

TEST(CompletionServer, ReportsWhatAnAnswerHasTaken) {
  const Running server(small_model(), {.streams = 2, .prompt_positions = 1024});
  const std::string prompt(300, 'x');
  const json request = {{"prompt", prompt}, {"max_tokens", 20}, {"seed", 1}};
  const auto cached = [](const json& answer) { return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<index>(); };
  EXPECT_EQ(cached(server.answer(kText, request)), 0);
  const json again = server.answer(kText, request);
  EXPECT_EQ(cached(again), 300) << "a stream still has all of it";
  json other = request;
  other["prompt"] = prompt.substr(0, 290) + "yz";
  EXPECT_EQ(cached(server.answer(kText, other)), 256) << "two whole chunks";
  other["prompt"] = "new" + prompt;
  other["n"] = 2;
  EXPECT_EQ(cached(server.answer(kText, other)), 0) << "the second choice has the prompt of the first one";

  const json times = again["timings"];
  EXPECT_EQ(times["cache_n"], 300);
  EXPECT_EQ(times["prompt_n"], 0);
  EXPECT_EQ(times["predicted_n"], 20);
  const double milliseconds = times["predicted_ms"], rate = times["predicted_per_second"];
  EXPECT_GT(milliseconds, 0);
  EXPECT_NEAR(rate * milliseconds / 1000, 19, 0.1) << "tokens after the first one";

  json streamed = request;
  streamed["stream_options"] = {{"include_usage", true}};
  streamed["timings_per_token"] = true;
  const std::vector<json> events = server.events(kText, streamed);
  EXPECT_EQ(events.back()["timings"]["predicted_n"], 20);
  index before = 0;
  for (const json& event : events) {
    const index now = event["timings"]["predicted_n"].get<index>();
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_FALSE(server.events(kText, request).front().contains("timings")) << "only if it is asked for";
}

// A tokenizer of SentencePiece's kind puts a space before a text, which is no part of it.
TEST(CompletionServer, LeavesOutTheSpaceBeforeAnAnswer) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const SmallModel& small = small_model();
  const Running server(
      ServedModel{.gpt = small.gpt,
                  .tokenizer = tokenizer,
                  .name = "pieces",
                  .fingerprint = "print",
                  .form = ChatTemplate(TemplateName::own, "{% for m in messages %}a{{ m.content }}b{% endfor %}", tokenizer)});
  const json talk = json::array({{{"role", "user"}, {"content", "a b"}}});
  const auto text_of = [&](json request, const json& first) {
    request["max_tokens"] = 4;
    request["logit_bias"] = {{first, 100}};
    request["temperature"] = 0;
    const bool is_chat = request.contains("messages");
    const json whole = server.answer(is_chat ? kChat : kText, request)["choices"][0];
    const std::string text = is_chat ? whole["message"]["content"] : whole["text"];
    std::string streamed;
    for (const json& event : server.events(is_chat ? kChat : kText, request)) {
      const json choice = event["choices"][0];
      streamed += is_chat ? choice["delta"].value("content", "") : choice["text"].get<std::string>();
    }
    EXPECT_EQ(streamed, text) << "the stream has the same text";
    return text;
  };
  EXPECT_EQ(text_of({{"messages", talk}}, "6"), "a a a a");
  EXPECT_EQ(text_of({{"messages", talk}}, "4"), "aaaa");
  EXPECT_EQ(text_of({{"messages", talk}}, "3"), "   ") << "only the first space is the tokenizer's";
  EXPECT_EQ(text_of({{"prompt", "b"}}, "6"), " a a a a") << "it continues the prompt";
  EXPECT_EQ(text_of({{"prompt", "b"}, {"echo", true}}, "6"), "b a a a a");
  EXPECT_EQ(text_of({{"prompt", ""}}, "6"), "a a a a") << "there is nothing to continue";
  EXPECT_EQ(text_of({{"messages", talk}, {"regex", " a( a)*"}}, "6"), " a a a a") << "an expression counts every character";
}

const json kEndless = {{"prompt", "Once"}, {"max_tokens", 99'000}, {"stream", true}};

TEST(CompletionServer, StopsForAClientThatIsGone) {
  Running server(large_model());
  for (const bool streams : {true, false}) {
    json request = kEndless;
    request["stream"] = streams;
    HttpClient client(server.url());
    client.send(post_request(kText, request.dump()));
    if (streams) {
      client.read("data: ");
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    client.close();
    EXPECT_EQ(server.answer(kText, {{"prompt", "a"}, {"max_tokens", 2}})["usage"]["completion_tokens"], 2) << "the next one has its turn";
    EXPECT_TRUE(server.has_logged(streams ? "200, the client" : "499, the client"));
  }
}

TEST(CompletionServer, LetsSomeWaitAndRefusesMore) {
  Running server(large_model(), {.most_waiting = 2, .streams = 1});
  HttpClient runs(server.url());
  runs.send(post_request(kText, kEndless.dump()));
  runs.read("data: ");
  std::deque<HttpClient> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back(server.url()).send(post_request(kText, R"({"prompt": "a", "max_tokens": 3})"));
  }
  HttpReply refused;
  for (int i = 0; i < 100 && refused.status != 503; ++i) {  // until both have arrived
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    HttpClient more(server.url());
    more.send(post_request(kText, R"({"prompt": "a", "stream": true})"));
    refused = testing::reply_of(more.read("\r\n\r\n"));
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After: 1"), std::string::npos) << refused.head;
  EXPECT_EQ(server.get("/health").status, 200) << "requests that need no model are answered";
  runs.close();
  for (HttpClient& client : waiting) {
    EXPECT_EQ(testing::reply_of(client.read()).status, 200);
  }
}

TEST(CompletionServer, AnswersManyClientsWithTheirOwnBits) {
  constexpr std::size_t kClients = 50;  // more than the streams and the threads at the start
  Running server(small_model());
  const auto request_of = [](std::size_t i) -> json {
    return {{"prompt", std::string(1 + 7 * i, static_cast<char>('a' + i % 26))}, {"max_tokens", 10 + i % 20}, {"seed", i}, {"logprobs", 1}};
  };
  std::vector<json> alone, together(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    alone.push_back(server.answer(kText, request_of(i))["choices"]);
  }
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] { together[i] = server.answer(kText, request_of(i))["choices"]; });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  for (std::size_t i = 0; i < kClients; ++i) {
    EXPECT_EQ(together[i], alone[i]) << i;
  }
}

TEST(CompletionServer, AConversationLeavesNoTraceInAnother) {
  // The conversations share a beginning of more than one chunk of kept prompts. The secret follows it.
  const auto ask_about = [](const std::string& text) -> json {
    return {{"messages", {{{"role", "system"}, {"content", std::string(200, 's')}}, {{"role", "user"}, {"content", text}}}},
            {"max_tokens", 30},
            {"seed", 4},
            {"n", 2},
            {"logprobs", true},
            {"top_logprobs", 5}};
  };
  const json secret = ask_about("my password is swordfish"), probe = ask_about("my password is ");
  const json expected = Running(small_model()).answer(kChat, probe)["choices"];
  Running server(small_model());
  EXPECT_NE(server.answer(kChat, secret)["choices"], expected);
  EXPECT_EQ(server.answer(kChat, probe)["choices"], expected) << "after the secret";
  json running = secret;  // and beside it
  running["stream"] = true;
  running["max_tokens"] = 150;
  HttpClient client(server.url());
  client.send(post_request(kChat, running.dump()));
  client.read("content");
  EXPECT_EQ(server.answer(kChat, probe)["choices"], expected) << "beside the secret";
  client.close();
  EXPECT_EQ(server.answer(kChat, probe)["choices"], expected) << "after it was broken off";
}

TEST(CompletionServer, LetsAnswersEndWithinTheGrace) {
  Running server(large_model(), {.grace = std::chrono::seconds(60)});
  HttpClient endless(server.url()), runs(server.url());
  endless.send(post_request(kText, kEndless.dump()));
  endless.read("data: ");
  runs.send(post_request(kText, R"({"prompt": "Once", "max_tokens": 2000, "stream": true})"));
  runs.read("data: ");
  std::thread ends([&] { server.end(); });
  EXPECT_TRUE(server.has_logged("60 s"));
  EXPECT_EQ(server.post(kText, {{"prompt", "a"}}).status, 503);
  EXPECT_NE(runs.read().find("data: [DONE]\n\n"), std::string::npos);
  endless.close();
  ends.join();
}

/// A request with a schema of which much is read, again and again, before it is refused.
std::string request_with_slow_schema() {
  json values = json::array(), properties = json::object();
  for (int i = 0; i < 1000; ++i) {
    values.push_back(concat("v", i * 31 % 1009, "x"));
  }
  for (int i = 0; i < 3000; ++i) {
    properties[concat("p", i)] = {{"$ref", "#/$defs/values"}};
  }
  const json schema = {{"$defs", {{"values", {{"enum", values}}}}}, {"type", "object"}, {"properties", properties}};
  return post_request(kText, json{{"prompt", "a"}, {"guided_json", schema}}.dump());
}

TEST(CompletionServer, StopsReadingASchemaWhenItsClientLeaves) {
  Running server(small_model());
  HttpClient client(server.url());
  client.send(request_with_slow_schema());
  client.close();
  EXPECT_TRUE(server.has_logged("the client went away")) << "it was read to its end";
}

TEST(CompletionServer, StopsReadingASchemaWhenItEnds) {
  Running server(small_model());
  HttpClient client(server.url());
  client.send(request_with_slow_schema());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // it is being read now
  server.end();
  EXPECT_EQ(testing::reply_of(client.read()).status, 503);
}

TEST(CompletionServer, EndsInTheMiddleOfAnAnswer) {
  Running server(large_model(), {.streams = 1});
  HttpClient runs(server.url()), waits(server.url());
  runs.send(post_request(kText, kEndless.dump()));
  runs.read("data: ");
  waits.send(post_request(kText, R"({"prompt": "a"})"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto began = std::chrono::steady_clock::now();
  server.end();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  const std::string cut = testing::reply_of(runs.read()).body;
  const std::size_t last = cut.rfind("data: ");
  ASSERT_NE(last, std::string::npos) << cut;
  const std::string event = cut.substr(last);
  EXPECT_TRUE(event.starts_with("data: {\"error\":{\"message\":\"")) << event;
  EXPECT_TRUE(event.ends_with("\",\"type\":\"server_error\",\"param\":null,\"code\":\"shutting_down\"}}\n\n")) << event;
  EXPECT_EQ(testing::reply_of(waits.read()).status, 503);
}

TEST(CompletionServer, ContinuesAfterAModelThatFails) {
  SmallModel broken(50);
  broken.store.weights<float>()[broken.store.entry("wte.weight").offset + 'x' * 16] = std::nanf("");
  const Running server(broken);
  const HttpReply failed = server.post(kText, {{"prompt", "x"}});
  EXPECT_EQ(failed.status, 500);
  EXPECT_TRUE(testing::names(failed.body, {"logits", "NaN"}));
  EXPECT_EQ(server.get("/health").status, 200);
}

/// The small model with a template that has tools and reasoning.
ServedModel model_with_tools() {
  ServedModel model = small_model().served();
  model.form =
      ChatTemplate(TemplateName::own,
                   "{% for t in tools or [] %}{{ t.function.name }}{{ t.function.description }};{% endfor %}"
                   "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
                   "{{ m.content }}{% for c in m.tool_calls %}<c>{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                   "{{ c.function.arguments | tojson }}}</c>{% endfor %}{{ '\\n' }}{% endfor %}"
                   "{% if add_generation_prompt %}<assistant>{% if enable_thinking is defined and not enable_thinking %}<think></think>"
                   "{% else %}<think>{% endif %}{% endif %}",
                   model.tokenizer);
  model.answers = answer_format_of(*model.form);
  return model;
}

TEST(CompletionServer, ForcesCallsOfTools) {
  const Running server(model_with_tools());
  const json parameters = {
      {"type", "object"},
      {"properties", {{"city", {{"enum", {"Rome", "Oslo"}}}}, {"days", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}}},
      {"required", {"city", "days"}},
      {"additionalProperties", false}};
  const auto tool = [](const char* name, const json& schema) {
    return json{{"type", "function"}, {"function", {{"name", name}, {"description", ""}, {"parameters", schema}}}};
  };
  json request = {{"messages", kHello},
                  {"tools", {tool("weather", parameters), tool("now", {{"type", "object"}, {"properties", json::object()}})}},
                  {"tool_choice", "required"},
                  {"parallel_tool_calls", false},
                  {"enable_thinking", false}};
  for (const int seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    request["seed"] = seed;
    const json choice = server.answer(kChat, request)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
    EXPECT_TRUE(choice["message"]["content"].is_null()) << choice;
    ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U) << choice;
    const json call = choice["message"]["tool_calls"][0];
    EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_")) << call;
    const json arguments = json::parse(call["function"]["arguments"].get<std::string>(), nullptr, false);
    if (call["function"]["name"] == "weather") {
      EXPECT_TRUE(arguments["city"] == "Rome" || arguments["city"] == "Oslo") << arguments;
      EXPECT_TRUE(arguments["days"].is_number_integer() && arguments["days"] >= 1 && arguments["days"] <= 9) << arguments;
    } else {
      EXPECT_EQ(arguments, json::object());
    }
    // The stream has the name first, and then the same arguments.
    std::string name, streamed, ending;
    for (const json& event : server.events(kChat, request)) {
      const json part = event["choices"][0];
      EXPECT_EQ(part["delta"].value("content", ""), "");
      for (const json& one : part["delta"].value("tool_calls", json::array())) {
        EXPECT_EQ(one["index"], 0);
        EXPECT_EQ(one.contains("id"), one["function"].contains("name"));
        name += one["function"].value("name", "");
        EXPECT_FALSE(name.empty());
        streamed += one["function"]["arguments"].get<std::string>();
      }
      ending = part["finish_reason"].is_null() ? ending : part["finish_reason"].get<std::string>();
    }
    EXPECT_EQ(call["function"]["name"], name);
    EXPECT_EQ(call["function"]["arguments"], streamed);
    EXPECT_EQ(ending, "tool_calls");
  }

  request["tool_choice"] = {{"type", "function"}, {"function", {{"name", "now"}}}};
  const json named = server.answer(kChat, request)["choices"][0]["message"]["tool_calls"];
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0]["function"]["name"], "now");
  EXPECT_EQ(named[0]["function"]["arguments"], "{}");

  request["tools"][0]["function"]["parameters"]["properties"]["days"] = {{"type", "integer"}, {"multipleOf", 2.5}};
  request["tool_choice"] = "auto";
  const HttpReply refused = server.post(kChat, request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["param"], "tools.weather.parameters.properties.days.multipleOf");
}

TEST(CompletionServer, LetsTheModelCallTools) {
  // The mark of a call is a byte that the model writes sooner or later.
  ServedModel model = small_model().served();
  model.form =
      ChatTemplate(TemplateName::own,
                   "{% for t in tools or [] %}{{ t.function.name }}{{ t.function.description }};{% endfor %}"
                   "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}!{\"name\": \"{{ c.function.name }}\", "
                   "\"arguments\": {{ c.function.arguments | tojson }}}{% endfor %}{{ '\\n' }}{% endfor %}<assistant>",
                   model.tokenizer);
  model.answers = answer_format_of(*model.form);
  ASSERT_TRUE(model.answers.calls) << model.answers.why_no_calls;
  const Running server(model);
  const json parameters = {{"type", "object"}, {"properties", {{"a", {{"type", "boolean"}}}}}, {"required", {"a"}}};
  json request = {{"messages", kHello},
                  {"tools", {{{"type", "function"}, {"function", {{"name", "f"}, {"description", ""}, {"parameters", parameters}}}}}},
                  {"parallel_tool_calls", false},
                  {"temperature", 2},
                  {"max_tokens", 100}};
  int called = 0, answered = 0;
  for (int seed = 0; seed < 20 || (called == 0 && seed < 400); ++seed) {
    request["seed"] = seed;
    const json choice = server.answer(kChat, request)["choices"][0];
    const json& message = choice["message"];
    EXPECT_TRUE(message["content"].is_null() || message["content"].get<std::string>().find('!') == std::string::npos) << message;
    if (message.contains("tool_calls")) {
      ++called;
      EXPECT_EQ(message["tool_calls"].size(), 1U);
      const json function = message["tool_calls"][0]["function"];
      EXPECT_EQ(function["name"], "f");
      if (choice["finish_reason"] == "tool_calls") {
        EXPECT_TRUE(json::parse(function["arguments"].get<std::string>())["a"].is_boolean()) << function;
      }
    } else {
      ++answered;
      EXPECT_EQ(choice["finish_reason"], "length");
    }
  }
  EXPECT_GT(called, 0);
  request["tool_choice"] = "none";
  request["seed"] = 0;
  EXPECT_FALSE(server.answer(kChat, request)["choices"][0]["message"].contains("tool_calls"));
}

TEST(CompletionServer, SeparatesReasoning) {
  const Running server(model_with_tools());
  const json request = {{"messages", kHello}, {"seed", 2}, {"max_tokens", 30}};
  const json thinks = server.answer(kChat, request)["choices"][0]["message"];
  EXPECT_FALSE(thinks["reasoning_content"].get<std::string>().empty()) << "the prompt begins it, and the model does not end it";
  EXPECT_EQ(thinks["content"], "");
  const auto with = [&](const json& fields) {
    json all = request;
    all.update(fields);
    return server.answer(kChat, all)["choices"][0]["message"];
  };
  const json left = with({{"reasoning_format", "none"}});
  EXPECT_FALSE(left.contains("reasoning_content"));
  EXPECT_NE(left["content"].get<std::string>().find(thinks["reasoning_content"].get<std::string>()), std::string::npos);
  EXPECT_EQ(with({{"include_reasoning", false}}), (json{{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}}));
  const json off = with({{"enable_thinking", false}});
  EXPECT_FALSE(off.contains("reasoning_content"));
  EXPECT_FALSE(off["content"].get<std::string>().empty());
}

}  // namespace
}  // namespace dikkat::serve
