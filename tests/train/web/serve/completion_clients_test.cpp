#include <chrono>
#include <cmath>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "tests/train/web/serve/running_server.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::HttpClient;
using testing::HttpReply;
using testing::post_request;

const json kEndless = {{"prompt", "Once"}, {"max_tokens", 99'000}, {"stream", true}};

TEST(CompletionServer, StopsForAClientThatIsGone) {
  RunningServer server(large_model());
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
  RunningServer server(large_model(), {.most_waiting = 2, .streams = 1});
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
  RunningServer server(small_model());
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
  const json expected = RunningServer(small_model()).answer(kChat, probe)["choices"];
  RunningServer server(small_model());
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
  RunningServer server(large_model(), {.grace = std::chrono::seconds(60)});
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
  RunningServer server(small_model());
  HttpClient client(server.url());
  client.send(request_with_slow_schema());
  client.close();
  EXPECT_TRUE(server.has_logged("the client went away")) << "it was read to its end";
}

TEST(CompletionServer, StopsReadingASchemaWhenItEnds) {
  RunningServer server(small_model());
  HttpClient client(server.url());
  client.send(request_with_slow_schema());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // it is being read now
  server.end();
  EXPECT_EQ(testing::reply_of(client.read()).status, 503);
}

TEST(CompletionServer, EndsInTheMiddleOfAnAnswer) {
  RunningServer server(large_model(), {.streams = 1});
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
  const RunningServer server(broken);
  const HttpReply failed = server.post(kText, {{"prompt", "x"}});
  EXPECT_EQ(failed.status, 500);
  EXPECT_TRUE(testing::names(failed.body, {"logits", "NaN"}));
  EXPECT_EQ(server.get("/health").status, 200);
}

}  // namespace
}  // namespace dikkat::serve
