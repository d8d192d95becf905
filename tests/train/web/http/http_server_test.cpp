#include "train/web/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/http_client.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

using testing::ask;
using testing::get_request;
using testing::HttpClient;
using testing::HttpReply;
using testing::names;
using testing::post_request;
using testing::reply_of;

constexpr std::size_t kLargestBody = 1000;
constexpr int kConnections = 4;

struct HttpServerTest : ::testing::Test {
  HttpServerTest()
      : server({{.method = "GET", .path = "/", .answer = [](HttpRequest&) { return HttpResponse{.body = "home"}; }},
                {.method = "GET", .path = "/broken", .answer = [](HttpRequest&) -> HttpResponse { fail("it is broken"); }},
                {.method = "GET", .path = "/drops", .answer = [this](HttpRequest&) { return drops(); }},
                {.method = "GET",
                 .path = "/flood",
                 .answer = [](HttpRequest&) -> HttpResponse {
                   return {.stream = [](HttpRequest&, const HttpWrite& write) {
                     while (write(std::string(1 << 20, 'x'))) {
                     }
                   }};
                 }},
                {.method = "GET", .path = "/waits", .answer = [this](HttpRequest& request) { return waits(request); }},
                {.method = "GET", .path = "/a b", .answer = [](HttpRequest&) { return HttpResponse{.body = "spaced"}; }},
                {.method = "POST", .path = "/echo", .answer = [](HttpRequest& request) { return HttpResponse{.body = request.body}; }}},
               {.most_connections = kConnections,
                .largest_body = kLargestBody,
                .refusal = [](int status, const std::string& what) { return HttpResponse{.status = status, .body = what}; },
                .admit = [](const HttpRequest& request) -> std::optional<HttpResponse> {
                  return request.authorization == "bad" ? std::optional(HttpResponse{.status = 401, .body = "no"}) : std::nullopt;
                },
                .finished =
                    [this](const HttpRequest& request, int status) {
                      const std::lock_guard lock(mutex);
                      log.push_back(concat(request.method, ' ', request.path, ' ', status, ' ', request.note));
                    }}) {
    server.start();
  }

  /// Writes until the client has closed its end.
  HttpResponse drops() {
    return {.type = "text/event-stream", .stream = [this](HttpRequest& request, const HttpWrite& write) {
              while (write("drop\n") && !request.is_gone() && !ends) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
              }
              request.note = "dropped";
            }};
  }
  /// Answers when the test lets it, or notes that its client has gone.
  HttpResponse waits(HttpRequest& request) {
    waiting = true;
    for (int i = 0; i < 1000 && !may_answer; ++i) {
      if (request.is_gone()) {
        request.note = "gone";
        return {.status = 499};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {.body = "waited"};
  }
  HttpReply asked(const std::string& request) const { return ask(server.url(), request); }
  bool has_logged(const std::string& line) {
    for (int i = 0; i < 2000; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (std::ranges::find(log, line) != log.end()) {
          return true;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  std::mutex mutex;
  std::deque<std::string> log;
  std::atomic<bool> ends = false, waiting = false, may_answer = false;
  HttpServer server;
};

TEST_F(HttpServerTest, AnswersItsRoutes) {
  const HttpReply home = asked(get_request("/?x=1"));
  EXPECT_EQ(home.status, 200);
  EXPECT_EQ(home.body, "home");
  EXPECT_NE(home.head.find("Connection: close"), std::string::npos) << home.head;
  EXPECT_EQ(home.head.find("Access-Control"), std::string::npos) << "no other page may read it";
  EXPECT_EQ(asked(post_request("/echo", "{}")).body, "{}");
  EXPECT_EQ(asked("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "");
  EXPECT_TRUE(has_logged("GET / 200 "));
  EXPECT_TRUE(has_logged("POST /echo 200 "));
}

TEST_F(HttpServerTest, RefusesOtherAddressesMethodsAndKeys) {
  EXPECT_EQ(asked(get_request("/other")).status, 404);
  const HttpReply wrong = asked(get_request("/echo"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("Allow: POST"), std::string::npos) << wrong.head;
  EXPECT_TRUE(names(wrong.body, {"GET", "POST"}));
  EXPECT_EQ(asked("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 405);
  EXPECT_EQ(asked(get_request("/", "Authorization: bad\r\n")).status, 401);
  EXPECT_EQ(asked(post_request("/echo", "{}", "Authorization: bad\r\n")).status, 401);
  const HttpReply broken = asked(get_request("/broken"));
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(broken.body, "it is broken");
  EXPECT_TRUE(has_logged("GET /other 404 "));
}

TEST_F(HttpServerTest, AnswersOnlyToThisMachine) {
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example", "[::2]", "128.0.0.1", ""}) {
    EXPECT_EQ(asked(concat("GET / HTTP/1.1\r\nHost: ", host, "\r\n\r\n")).status, 403) << host;
  }
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:80"}) {
    EXPECT_EQ(asked(concat("GET / HTTP/1.1\r\nHost: ", host, "\r\n\r\n")).status, 200) << host;
  }
}

TEST_F(HttpServerTest, RefusesBodiesThatAreNotPlainJson) {
  EXPECT_EQ(asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}").status, 415)
      << "a request that another page can send without asking";
  EXPECT_EQ(asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_TRUE(names(asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}").body,
                    {"no Content-Type", "Content-Type: application/json"}));
  const HttpReply compressed = asked(post_request("/echo", "{}", "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(compressed.status, 415);
  EXPECT_TRUE(names(compressed.body, {"Content-Encoding"}));
  EXPECT_EQ(
      asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}").body,
      "{}");
  EXPECT_EQ(asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n").status, 411);
  EXPECT_EQ(asked("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
                .body,
            "{}");
}

TEST_F(HttpServerTest, RefusesRequestsThatAreTooLong) {
  EXPECT_EQ(asked(post_request("/echo", std::string(kLargestBody, 'x'))).status, 200);
  const HttpReply large = asked(post_request("/echo", std::string(kLargestBody + 1, 'x')));
  EXPECT_EQ(large.status, 413);
  EXPECT_TRUE(names(large.body, {"1000"}));
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(asked(chunked + "5dc\r\n" + std::string(1500, 'x') + "\r\n0\r\n\r\n").status, 413);
  EXPECT_EQ(asked(chunked + "fffffff\r\n" + std::string(200'000, 'x')).status, 413) << "that does not end";
  EXPECT_EQ(asked(get_request("/" + std::string(10'000, 'x'))).status, 414);
  EXPECT_EQ(asked(get_request("/" + std::string(300'000, 'x'))).status, 431);
  EXPECT_EQ(asked(get_request("/", "X: " + std::string(10'000, 'x') + "\r\n")).status, 200) << "a long cookie";
  EXPECT_EQ(asked(get_request("/", "X: " + std::string(70'000, 'x') + "\r\n")).status, 431);
  std::string headers;
  for (int i = 0; i < 20'000; ++i) {
    headers += "a: b\r\n";
  }
  EXPECT_EQ(asked(get_request("/", headers)).status, 431);
  EXPECT_EQ(asked(get_request("/")).status, 200) << "it continues";
}

TEST_F(HttpServerTest, RefusesBytesThatAreNotHttp) {
  EXPECT_EQ(asked("hello\r\n\r\n").status, 400);
  EXPECT_EQ(asked("GET\r\n\r\n").status, 400);
  {
    HttpClient gone(server.url());
  }
  HttpClient half(server.url());
  half.send("GET / HT");
  half.close();
  EXPECT_EQ(asked(get_request("/")).status, 200) << "it continues";
}

TEST_F(HttpServerTest, StreamsUntilTheClientIsGone) {
  HttpClient client(server.url());
  client.send(get_request("/drops", "Accept-Encoding: gzip, br\r\n"));
  EXPECT_NE(client.read("drop\n").find("text/event-stream"), std::string::npos);
  client.read("drop\n\r\n5\r\ndrop\n");  // several
  client.close();
  EXPECT_TRUE(has_logged("GET /drops 200 dropped"));
}

TEST_F(HttpServerTest, RefusesConnectionsBeyondItsNumber) {
  std::deque<HttpClient> open;
  for (int i = 0; i < kConnections; ++i) {
    open.emplace_back(server.url()).send(get_request("/drops"));
    open.back().read("drop\n");
  }
  const HttpReply refused = asked(get_request("/"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After: 1"), std::string::npos) << refused.head;
  open.clear();
  EXPECT_TRUE(has_logged("GET /drops 200 dropped"));
  int status = 503;
  for (int i = 0; i < 100 && status == 503; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = asked(get_request("/")).status;
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpServerTest, SendsARefusalWholeToClientsWhoseRequestIsNotRead) {
  std::deque<HttpClient> open;
  for (int i = 0; i < kConnections; ++i) {
    open.emplace_back(server.url()).send(get_request("/drops"));
    open.back().read("drop\n");
  }
  for (int i = 0; i < 20; ++i) {
    HttpClient client(server.url());
    const std::string request = post_request("/echo", std::string(1000, 'x'));
    for (std::size_t at = 0; at < request.size(); at += 200) {
      ASSERT_TRUE(client.send(request.substr(at, 200))) << "a client that cannot send gives up";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const HttpReply refused = reply_of(client.read());
    ASSERT_EQ(refused.status, 503);
    ASSERT_TRUE(names(refused.body, {"connections"}));
  }
  ends = true;
}

TEST_F(HttpServerTest, AnswersAllThatHaveConnectedWhenItStops) {
  for (int round = 0; round < 10; ++round) {
    HttpServer one({{.method = "GET", .path = "/", .answer = [](HttpRequest&) { return HttpResponse{.body = "home"}; }}},
                   {.most_connections = kConnections,
                    .refusal = [](int status, const std::string& what) { return HttpResponse{.status = status, .body = what}; }});
    one.start();
    std::deque<HttpClient> clients;
    for (int i = 0; i < 2 * kConnections; ++i) {
      clients.emplace_back(one.url()).send(get_request("/"));
    }
    one.stop();
    for (HttpClient& client : clients) {
      const int status = reply_of(client.read()).status;
      EXPECT_TRUE(status == 200 || status == 503) << status;
    }
  }
}

TEST_F(HttpServerTest, AnswersAClientThatHasEndedSending) {
  for (const bool leaves : {false, true}) {
    waiting = may_answer = false;
    HttpClient client(server.url());
    client.send(get_request("/waits"));
    while (!waiting) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (leaves) {
      client.close();
      EXPECT_TRUE(has_logged("GET /waits 499 gone"));
    } else {
      client.end_sending();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      may_answer = true;
      const std::string answer = client.read();
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")) << answer;
      EXPECT_TRUE(answer.ends_with("\r\n\r\nwaited")) << answer;
    }
  }
}

TEST_F(HttpServerTest, UnderstandsEveryFormOfARequest) {
  const HttpReply ranges = asked(get_request("/", "Range: bytes=0-0,5-4,99-\r\n"));
  EXPECT_EQ(ranges.status, 200) << "a part is never sent";
  EXPECT_EQ(ranges.body, "home");
  EXPECT_EQ(asked("GET http://localhost/?q HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "home") << "as to a proxy";
  EXPECT_EQ(asked(get_request("/a%20b")).body, "spaced");
  EXPECT_EQ(asked(get_request("/a%2")).status, 404);
  EXPECT_EQ(asked("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status, 400);
  EXPECT_EQ(asked("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n").status, 505);
  EXPECT_EQ(asked("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").body, "home");
  HttpClient old(server.url());
  old.send("GET /drops HTTP/1.0\r\nHost: localhost\r\n\r\n");
  old.read("drop\ndrop\n");
  ends = true;
  EXPECT_TRUE(old.read().ends_with("drop\n")) << "HTTP/1.0 knows no chunks";
  HttpClient careful(server.url());
  careful.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(careful.read("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  careful.send("{}");
  EXPECT_TRUE(careful.read().ends_with("\r\n\r\n{}"));
  HttpClient slow(server.url());
  for (const char c : get_request("/")) {
    slow.send(std::string(1, c));
  }
  EXPECT_EQ(reply_of(slow.read()).body, "home");
}

TEST_F(HttpServerTest, EndsWhileClientsAreConnected) {
  HttpClient idle(server.url()), half(server.url()), listens(server.url());
  half.send("POST /echo HTTP/1.1\r\n");
  listens.send(get_request("/drops"));
  listens.read("drop\n");
  const auto began = std::chrono::steady_clock::now();
  ends = true;
  server.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
  EXPECT_FALSE(server.is_running());
}

TEST_F(HttpServerTest, EndsAlthoughAClientDoesNotRead) {
  HttpClient sleeps(server.url());
  sleeps.send(get_request("/flood"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until no more fits into the sockets' buffers
  const auto began = std::chrono::steady_clock::now();
  server.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
}

TEST(HttpServerPorts, AreNotShared) {
  const auto refuse = [](int status, const std::string& what) { return HttpResponse{.status = status, .body = what}; };
  const HttpServer first({}, {.refusal = refuse});
  const std::string url = first.url();
  const int port = std::atoi(url.c_str() + url.rfind(':') + 1);
  EXPECT_GT(port, 0);
  const auto refusal = [&](const char* host, int from, int ports = 1) {
    return input_error_of([&] { HttpServer({}, {.host = host, .port = from, .ports = ports, .refusal = refuse}); });
  };
  EXPECT_TRUE(refusal("127.0.0.1", port).starts_with(concat("cannot listen on 127.0.0.1, port ", port, ": ")));
  for (const int ports : {1, 50}) {  // other ports would not help
    EXPECT_TRUE(refusal("203.0.113.7", port, ports).starts_with(concat("cannot listen on 203.0.113.7, port ", port)));
  }
  EXPECT_TRUE(refusal("203.0.113.7", 0).starts_with("cannot listen on 203.0.113.7: "));
  EXPECT_TRUE(refusal("nowhere.invalid", port).starts_with(concat("cannot listen on nowhere.invalid, port ", port)));
  const HttpServer next({}, {.port = port, .ports = 50, .refusal = refuse});
  EXPECT_NE(next.url(), url);
}

}  // namespace
}  // namespace dikkat
