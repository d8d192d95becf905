#include "train/web/serve/loading_server.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/http_client.h"
#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"
#include "train/web/serve/completion_server.h"

namespace dikkat::serve {
namespace {

using testing::ask;
using testing::get_request;
using testing::post_request;

TEST(LoadingServer, AsksClientsToComeAgain) {
  int port = 0;
  {
    const LoadingServer server("127.0.0.1", 0);
    port = std::stoi(server.url().substr(server.url().rfind(':') + 1));
    for (const std::string& request : {get_request("/health"), get_request("/v1/models"), post_request("/v1/completions", "{}")}) {
      const testing::HttpReply reply = ask(server.url(), request);
      EXPECT_EQ(reply.status, 503) << request;
      EXPECT_NE(reply.head.find("Retry-After: 1"), std::string::npos) << reply.head;
      EXPECT_EQ(nlohmann::json::parse(reply.body, nullptr, false)["error"]["code"], "loading") << reply.body;
    }
    EXPECT_TRUE(testing::names(input_error_of([&] { LoadingServer("127.0.0.1", port); }), {"127.0.0.1"}));
  }
  const LoadingServer next("127.0.0.1", port);  // the address is free at once
  EXPECT_EQ(ask(next.url(), get_request("/health")).status, 503);
}

TEST(LoadingServer, HandsItsClientsOver) {
  for (int round = 0; round < 5; ++round) {
    auto loading = std::make_unique<LoadingServer>("127.0.0.1", 0);
    const std::string url = loading->url();
    std::atomic<bool> ends = false;
    std::atomic<int> answered = 0, refused = 0, lost = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&, i] {
        while (!ends) {
          const int status = ask(url, i % 2 == 0 ? get_request("/health") : post_request("/v1/completions", "{\"max_tokens\": 1}")).status;
          ++(status == 200 ? answered : status == 503 ? refused : lost);
        }
      });
    }
    const auto wait_for = [&](const std::atomic<int>& count, int more) {
      for (int i = 0, least = count + more; i < 5000 && count < least; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    wait_for(refused, 20);
    CompletionServer server({small_model().served()}, {.socket = loading->hand_over()});
    loading.reset();
    EXPECT_EQ(server.url(), url);
    std::atomic<bool> stops = false;
    std::thread serving([&] { server.serve([&] { return stops.load(); }); });
    wait_for(answered, 20);
    ends = true;
    for (std::thread& client : clients) {
      client.join();
    }
    stops = true;
    serving.join();
    EXPECT_EQ(lost, 0) << "every client got a response";
    EXPECT_GE(answered, 20);
    EXPECT_GE(refused, 20);
  }
}

}  // namespace
}  // namespace dikkat::serve
