#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/http_client.h"
#include "tests/train/web/serve/small_model.h"
#include "train/web/serve/completion_server.h"

namespace dikkat::serve {

inline constexpr const char* kText = "/v1/completions";
inline constexpr const char* kChat = "/v1/chat/completions";
inline const nlohmann::json kHello = nlohmann::json::array({{{"role", "user"}, {"content", "hello"}}});

/// A server that runs until the end of the test.
class RunningServer {
 public:
  explicit RunningServer(const SmallModel& model, CompletionServer::Options options = {})
      : RunningServer(model.served(), std::move(options)) {}
  explicit RunningServer(ServedModel model, CompletionServer::Options options = {})
      : RunningServer(std::vector<ServedModel>{std::move(model)}, std::move(options)) {}
  explicit RunningServer(std::vector<ServedModel> models, CompletionServer::Options options = {}) {
    options.port = 0;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + '\n';
    };
    server_ = std::make_unique<CompletionServer>(std::move(models), options);
    thread_ = std::thread([this] { server_->serve([this] { return ends_.load(); }); });
    EXPECT_EQ(get("/health").status, 200);
  }
  ~RunningServer() { end(); }
  void end() {
    ends_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  std::string url() const { return server_->url(); }
  testing::HttpReply get(const std::string& path, const std::string& headers = {}) const {
    return testing::ask(url(), testing::get_request(path, headers));
  }
  testing::HttpReply post(const std::string& path, const nlohmann::json& body) const {
    return testing::ask(url(), testing::post_request(path, body.dump()));
  }
  nlohmann::json answer(const std::string& path, const nlohmann::json& body) const {
    const testing::HttpReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body, nullptr, false);
  }
  /// The objects of a stream, which must end with [DONE].
  std::vector<nlohmann::json> events(const std::string& path, nlohmann::json body) const {
    body["stream"] = true;
    const testing::HttpReply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n")) << reply.body;
    std::vector<nlohmann::json> objects;
    std::string rest = reply.body.substr(0, reply.body.find("data: [DONE]"));
    while (!rest.empty()) {
      const std::size_t end = rest.find("\n\n");
      EXPECT_TRUE(rest.starts_with("data: "));
      objects.push_back(nlohmann::json::parse(rest.substr(6, end - 6), nullptr, false));
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

}  // namespace dikkat::serve
