#include "train/web/serve/loading_server.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/http_client.h"
#include "tests/support/throws.h"

namespace dikkat {
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

}  // namespace
}  // namespace dikkat
