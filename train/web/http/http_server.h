#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dikkat {

/// A request that has arrived.
struct HttpRequest {
  std::string method, path{};  // the path without what follows '?'
  std::string body{};
  std::string authorization{};      // the header of this name
  std::function<bool()> is_gone{};  // whether nobody waits for the response any more
  std::string note{};               // for HttpOptions::finished, which may log it
};

/// Sends some bytes of a response. False if they cannot be sent: then nothing later can be, either.
using HttpWrite = std::function<bool(std::string_view some)>;

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::function<void(HttpRequest& request, const HttpWrite& write)> stream{};  // writes the body piece by piece, in place of `body`
  std::string filler{};  // bytes that the stream's clients ignore, sent to find out whether they are still there; may be empty
};

/// What answers a method and a path. Requests come on several threads at once.
struct HttpRoute {
  std::string method, path;  // the path of a POST consists of letters, digits, '/', '-' and '_'
  std::function<HttpResponse(HttpRequest& request)> answer;
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                  // 0: any that is free
  int ports = 1;                 // so many are tried, from `port` on
  int most_connections = 32;     // that are open at once; more are refused with 503
  std::size_t largest_body = 0;  // bytes that a request may send; its type must be application/json
  /// Writes a refusal of the server itself: a status of 400 to 599, and what is wrong, in a sentence.
  std::function<HttpResponse(int status, const std::string& what)> refusal;
  /// Called before the body of a request is read, if its route is known: a response in place of the route's.
  std::function<std::optional<HttpResponse>(const HttpRequest& request)> admit{};
  /// Called when a response has been sent, or its client has gone away.
  std::function<void(const HttpRequest& request, int status)> finished{};
};

/// Serves HTTP/1.1 to strangers. Everything that a client can make large has a limit: the request line and the headers (64 KiB), the body,
/// the time that a request may take to arrive (30 s), the time that a client may take to read (10 s without a byte), and the number of
/// connections. A connection carries one request. Every client gets its response whole, also one whose request was not read. Ranges are not
/// served: a request for one gets the whole. A server on a loopback address refuses requests for other hosts: another site's page could
/// send them, by a name that leads here (DNS rebinding). Compressed bodies are refused.
class HttpServer {
 public:
  /// Throws InputError if it cannot listen there.
  HttpServer(std::vector<HttpRoute> routes, HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:8080/"
  std::string url() const;

  /// Answers requests, on threads of its own, until stop(). Throws Error if the system gives it too few threads.
  void start();
  /// Whether it still accepts connections.
  bool is_running() const;
  /// Accepts no more connections, and waits for the routes that are answering. Clients get half a second to take what is sent.
  void stop();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
