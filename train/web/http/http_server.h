#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dikkat {

class ListeningSocket;

/// A request from a client.
struct HttpRequest {
  std::string method, path{};  // the path ends before '?'
  std::string body{};
  std::string authorization{};      // the Authorization header
  std::string api_key{};            // the x-api-key header
  std::function<bool()> is_gone{};  // whether nobody waits for the response any more
  std::string note{};               // a note that HttpOptions::finished may log
};

/// Sends some bytes of a response. Returns false if that fails; later calls fail too.
using HttpWrite = std::function<bool(std::string_view some)>;

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::function<void(HttpRequest& request, const HttpWrite& write)> stream{};  // writes the body piece by piece, in place of `body`
  std::string filler{};  // bytes that clients of the stream ignore, to check whether a client still waits; may be empty
};

/// Answers requests for a method and a path. Several threads call `answer` at once.
struct HttpRoute {
  std::string method, path;  // the path of a POST consists of letters, digits, '/', '-' and '_'
  std::function<HttpResponse(HttpRequest& request)> answer;
  bool is_listed = true;  // whether the error for an unknown path names it
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                                     // 0: any free port
  int ports = 1;                                    // number of ports to try, starting at `port`
  std::shared_ptr<const ListeningSocket> socket{};  // result of another server's hand_over(), in place of `port`
  int most_connections = 32;                        // open at once; more are refused with 503
  std::size_t largest_body = 0;                     // the most bytes of a request's body, whose type must be application/json
  /// Makes the response for a request that the server itself refuses. `status` is 400 to 599; `what` is a sentence with the reason.
  std::function<HttpResponse(int status, const std::string& what)> refusal;
  /// Called for a request with a known route before its body is read. A response that it returns replaces the route's.
  std::function<std::optional<HttpResponse>(const HttpRequest& request)> admit{};
  /// Called when a response has been sent, or its client is gone.
  std::function<void(const HttpRequest& request, int status)> finished{};
};

/// Serves HTTP/1.1 to untrusted clients. Everything that a client can make large has a limit: the request line and the headers (64 KiB),
/// the body, and the number of connections. Times are limited too: until a request has arrived (30 s), and without a byte while a client
/// reads (10 s).
///
/// A connection carries one request. Every client receives its complete response, even if its request was not read to the end. A request
/// for a range is answered with the whole content. Compressed bodies are refused. A server on a loopback address refuses requests for other
/// hosts: another site's page could send them through a name that resolves to this machine (DNS rebinding).
class HttpServer {
 public:
  /// Listens at options.host and port. Throws InputError if that is not possible.
  HttpServer(std::vector<HttpRoute> routes, HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Returns the address of the server, such as "http://127.0.0.1:8080/".
  std::string url() const;

  /// Starts threads that answer requests until stop(). Throws Error if the system provides too few threads.
  void start();
  /// Returns whether the server still accepts connections.
  bool is_running() const;
  /// Accepts no more connections, and waits for the routes that are answering. Every connected client receives a response, or a refusal
  /// with 503 if its request was not answered yet. Clients have half a second to take the last bytes.
  void stop();
  /// Stops as stop() does, but leaves later connections to the next server, which receives the result as HttpOptions::socket. They wait
  /// until it starts, so no client notices the change.
  std::shared_ptr<const ListeningSocket> hand_over();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
