#include "train/web/serve/completion_server.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "tests/train/web/serve/prometheus_text.h"
#include "tests/train/web/serve/running_server.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::ask;
using testing::get_request;
using testing::HttpReply;
using testing::post_request;

TEST(CompletionServer, ContinuesATextAndAnswersAConversation) {
  RunningServer server(small_model());
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
  const RunningServer server(small_model());
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
    const RunningServer server(small_model());
    EXPECT_EQ(server.post("/feedback", rating).status, 404);
  }
  const TemporaryFolder folder;
  const RunningServer server(small_model(), {.api_key = "secret", .feedback = folder / "ratings.jsonl"});
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
  RunningServer server(small_model());
  const json tokens = server.answer("/tokenize", {{"content", "Once"}});
  EXPECT_EQ(tokens["tokens"], (json{'O', 'n', 'c', 'e'}));
  EXPECT_EQ(server.answer("/detokenize", {{"tokens", tokens["tokens"]}})["content"], "Once");
  EXPECT_EQ(server.answer("/apply-template", {{"messages", kHello}})["prompt"], "<user>hello\n<assistant>");
  const HttpReply refused = server.post("/tokenize", {{"text", "Once"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["param"], "text");
  EXPECT_TRUE(server.has_logged("POST /tokenize 400, "));
}

TEST(CompletionServer, CountsWhatItDoes) {
  const RunningServer server(small_model());
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
  const RunningServer server({small_model().served(), second});
  const json list = json::parse(server.get("/v1/models").body)["data"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["id"], "tiny");
  EXPECT_EQ(list[1]["id"], "other");
  EXPECT_EQ(list[1]["parent"], "tiny");
  EXPECT_EQ(json::parse(server.get("/v1/models/other").body)["parent"], "tiny");

  // Each model gives the answers that it gives when it is served alone, one after another and at the same time.
  const RunningServer only_second({second}), only_first(small_model());
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

TEST(CompletionServer, RefusesInTheProtocolsForm) {
  const RunningServer server(small_model());
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
  EXPECT_EQ(prompt_tokens(model, {.prompts = {{.text = "ab"}}}).at(0).size(), 2U);
  try {
    prompt_tokens(model, {.endpoint = Endpoint::chat, .messages = {{"user", "a"}}});
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_TRUE(testing::names(error.what(), {"conversations", "its tokens end no text", "/v1/completions"}));
  }
}

TEST(CompletionServer, WantsItsKey) {
  const RunningServer server(small_model(), {.api_key = "secret"});
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
  const RunningServer server(small_model());
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

}  // namespace
}  // namespace dikkat::serve
