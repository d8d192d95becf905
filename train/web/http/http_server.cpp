#include "train/web/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "autograd/base/error.h"
#include "train/web/http/connection.h"
#include "train/web/http/listener.h"
#include "train/web/http/loopback.h"
#include "train/web/http/request_parser.h"

namespace dikkat {
namespace {

using Clock = Connection::Clock;

constexpr int kNoMemory = 500;  // the status of a request for which there is no memory
constexpr std::size_t kLargestHead = std::size_t{64} << 10;
constexpr std::size_t kLargestTarget = 8192;
constexpr auto kHeadTime = std::chrono::seconds(10);          // limit for the request line and headers
constexpr auto kRequestTime = std::chrono::seconds(30);       // limit for the whole request
constexpr auto kLastMoment = std::chrono::milliseconds(500);  // time for clients to take their responses when the server ends
constexpr int kThreadsAtFirst = 32;                           // others are started on demand
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>('A' <= c && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

/// Returns the host in a Host header, without the port.
std::string host_of(const std::string& header) {
  if (header.starts_with('[')) {
    return header.substr(1, header.find(']') - 1);
  }
  return header.substr(0, header.find(':'));
}

int hex_digit(char c) {
  if ('0' <= c && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return 'a' <= c && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Returns the path in a request target, without the query and with %XX decoded. The target may be a complete URL, as proxies send it.
std::string path_of(std::string target) {
  if (const std::size_t scheme = target.find("://"); scheme != std::string::npos && target.find('/') > scheme) {
    const std::size_t slash = target.find('/', scheme + 3);
    target = slash == std::string::npos ? "/" : target.substr(slash);
  }
  target.resize(std::min(target.find_first_of("?#"), target.size()));
  std::string path;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const int high = target[i] == '%' && i + 2 < target.size() ? hex_digit(target[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(target[i + 2]) : -1;
    path += low >= 0 ? static_cast<char>(16 * high + low) : target[i];
    i += low >= 0 ? 2 : 0;
  }
  return path;
}

const char* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return status < 400 ? "Success" : "Refused";
  }
}

/// Returns the head of a response, up to the empty line. `length` is the header that determines how the body ends.
std::string head_of(const HttpResponse& response, const std::string& length) {
  std::string head =
      concat("HTTP/1.1 ", response.status, ' ', reason_of(response.status), "\r\nConnection: close\r\nContent-Type: ", response.type,
             "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n", length);
  for (const auto& [name, value] : response.headers) {
    append_to(head, concat(name, ": ", value, "\r\n"));
  }
  return head + "\r\n";
}

std::string length_header(const HttpResponse& response) { return concat("Content-Length: ", response.body.size(), "\r\n"); }

/// Frames a piece of a body whose length is not known in advance.
std::string chunk(std::string_view some) {
  char size[2 * sizeof(std::size_t)];
  const auto end = std::to_chars(size, size + sizeof size, some.size(), 16).ptr;
  return concat(std::string_view(size, static_cast<std::size_t>(end - size)), "\r\n", some, "\r\n");
}

/// Decides how a server answers a request, by its routes and refusals. It does not send or receive.
class Router {
 public:
  Router(std::vector<HttpRoute> routes, HttpOptions options) : routes_(std::move(routes)), options_(std::move(options)) {}

  const HttpOptions& options() const { return options_; }

  HttpResponse refusal(int status) const {
    HttpResponse response = options_.refusal(status, meaning(status));
    if (status == 503) {
      response.headers.emplace_back("Retry-After", "1");
    }
    return response;
  }

  /// Returns the response to a request whose head has been read, or nullopt if its body has to be read first. In that case, sets `route` to
  /// the route that will answer.
  std::optional<HttpResponse> answer_head(const RequestParser& parser, HttpRequest& request, const HttpRoute*& route) const {
    // Check target and host.
    const std::string target = parser.target();
    request.method = parser.method();
    request.path = path_of(target);
    request.authorization = parser.header("Authorization").value_or("");
    request.api_key = parser.header("x-api-key").value_or("");
    if (target.size() > kLargestTarget) {
      return refusal(414);
    }
    if (parser.count("Host") > 1) {
      return options_.refusal(400, concat("the request has ", parser.count("Host"), " Host headers, expected one"));
    }
    if (is_loopback(options_.host) && !is_loopback(host_of(parser.header("Host").value_or("")))) {
      return refusal(403);
    }
    // Find the route. HEAD uses that of GET.
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    std::string allowed;
    for (const HttpRoute& one : routes_) {
      if (one.path == request.path) {
        allowed += (allowed.empty() ? "" : ", ") + one.method;
        route = one.method == method ? &one : route;
      }
    }
    if (route == nullptr) {
      if (allowed.empty()) {
        return refusal(404);
      }
      HttpResponse response = options_.refusal(405, concat("the method is ", request.method, ", expected ", allowed, " for this path"));
      response.headers.emplace_back("Allow", allowed);
      return response;
    }
    if (options_.admit) {
      if (auto refused = options_.admit(request)) {
        return refused;
      }
    }
    if (method == "GET") {
      return answer(*route, request);
    }
    // Check the headers that describe the body.
    const std::string type = lower(parser.header("Content-Type").value_or(""));
    if (type.substr(0, std::min(type.find(';'), type.find(' '))) != "application/json") {
      return options_.refusal(415, concat("the request has ", type.empty() ? "no Content-Type" : concat("the Content-Type ", type),
                                          ", expected Content-Type: application/json"));
    }
    if (const std::string coding = lower(parser.header("Content-Encoding").value_or("")); !coding.empty() && coding != "identity") {
      return options_.refusal(415, "the body is compressed (Content-Encoding), which is not supported: send it uncompressed");
    }
    if (!parser.promised_length() && !parser.header("Transfer-Encoding")) {
      return refusal(411);
    }
    return parser.promised_length().value_or(0) > options_.largest_body ? std::optional(refusal(413)) : std::nullopt;
  }

  HttpResponse no_memory() const { return options_.refusal(kNoMemory, "there is not enough memory for this request"); }

  /// Returns the route's answer. Throws std::bad_alloc if there is no memory for it.
  HttpResponse answer(const HttpRoute& route, HttpRequest& request) const {
    try {
      return route.answer(request);
    } catch (const Error& error) {
      return options_.refusal(500, error.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {  // a library's message would mean nothing to a client
      return options_.refusal(500, "the server could not answer this request");
    }
  }

 private:
  std::string meaning(int status) const {
    switch (status) {
      case 400: return "the request is not valid HTTP/1.1, or is incomplete";
      case 403: return "the Host of the request is another one: this server answers only requests for localhost";
      case 404: return concat("there is nothing at this path; ", addresses());
      case 408: return "the request did not arrive in time";
      case 411: return "the request has no Content-Length";
      case 413: return concat("the body is too large, expected at most ", options_.largest_body, " bytes");
      case 414: return concat("the URL of the request is too long, expected at most ", kLargestTarget, " bytes");
      case 431: return concat("the headers are too large, expected at most ", kLargestHead, " bytes");
      case 503: return "too many connections are open, or the server is stopping: try again in a moment";
      case 505: return "the request uses another version of HTTP, expected HTTP/1.1";
      default: return concat("the request failed with status ", status);
    }
  }

  std::string addresses() const {
    std::string all;
    for (const HttpRoute& route : routes_) {
      if (!route.is_listed) {
        continue;
      }
      append_to(all, concat(all.empty() ? "expected one of " : ", ", route.method, ' ', route.path));
    }
    return all;
  }

  std::vector<HttpRoute> routes_;
  HttpOptions options_;
};

/// One request and its response.
class Exchange {
 public:
  /// `no_memory` is the complete response to a request for which there is no memory.
  Exchange(const Router& router, int socket, const std::atomic<bool>& ending, std::string_view no_memory)
      : router_(router), connection_(socket, ending), ending_(ending), no_memory_(no_memory) {
    request_.is_gone = [this] { return connection_.is_gone(probe_); };
  }

  /// Reads the request, and sends the response.
  void run() {
    const HttpRoute* route = nullptr;
    const int refused = read_head();
    if (refused < 0) {
      return;  // the client has sent nothing and is gone
    }
    try {
      answer(refused, route);
    } catch (const std::bad_alloc&) {
      if (has_begun_) {
        return;  // the missing end shows the client that the response is incomplete
      }
      free_memory();
      connection_.write(no_memory_);
      if (router_.options().finished) {
        router_.options().finished(request_, kNoMemory);
      }
    }
  }

 private:
  /// Frees the memory of the request, so that the next one finds memory.
  void free_memory() {
    bytes_ = {};
    request_.body = {};
    parser_.take_body();
  }

  /// Sends the response to a request whose head has been read, or refused with a status.
  void answer(int refused, const HttpRoute* route) {
    std::optional<HttpResponse> response;
    if (refused == 0) {
      probe_ = parser_.is_http_1_0() ? "" : kContinue;
      response = router_.answer_head(parser_, request_, route);
    } else {
      response = router_.refusal(refused);
    }
    if (!response) {
      const int refused_body = read_body();
      response = refused_body != 0 ? router_.refusal(refused_body) : router_.answer(*route, request_);
    }
    send(*response);
    if (router_.options().finished) {
      router_.options().finished(request_, response->status);
    }
  }

  /// Reads the head. Returns 0, or the status to refuse the request with, or -1 if nothing came.
  int read_head() {
    for (bool has_bytes = false;; has_bytes = true) {
      switch (connection_.read(bytes_, start_time_ + kHeadTime)) {
        case Connection::Read::some: break;
        case Connection::Read::ended: return has_bytes ? 400 : -1;
        case Connection::Read::late: return ending_ ? 503 : 408;
      }
      switch (parser_.read(bytes_)) {
        case RequestParser::State::begun: break;
        case RequestParser::State::refused: return parser_.refusal();
        default: return 0;
      }
    }
  }

  /// Reads the body into the request. Returns 0, or the status to refuse the request with.
  int read_body() {
    const std::size_t largest = router_.options().largest_body;
    parser_.limit_body(largest);
    if (lower(parser_.header("Expect").value_or("")) == "100-continue" && bytes_.empty()) {
      connection_.write(kContinue);
    }
    std::size_t arrived = bytes_.size();
    auto state = parser_.read(bytes_);
    while (state == RequestParser::State::has_head) {
      const std::size_t before = bytes_.size();
      switch (connection_.read(bytes_, start_time_ + kRequestTime)) {
        case Connection::Read::some: break;
        case Connection::Read::ended: return 400;
        case Connection::Read::late: return ending_ ? 503 : 408;
      }
      arrived += bytes_.size() - before;
      if (arrived > 2 * largest + kLargestHead) {  // in chunked bodies, this also limits the bytes between the chunks
        return 413;
      }
      state = parser_.read(bytes_);
    }
    if (state == RequestParser::State::refused) {
      return parser_.refusal();
    }
    request_.body = parser_.take_body();
    return 0;
  }

  void send(const HttpResponse& response) {
    const bool is_head = request_.method == "HEAD";
    if (!response.stream) {
      probe_ = {};
      const std::string text = head_of(response, length_header(response)) + (is_head ? "" : response.body);
      has_begun_ = true;
      connection_.write(text);
      return;
    }
    // A stream ends with the connection for a client of HTTP/1.0, and with an empty chunk for others.
    const bool in_chunks = !parser_.is_http_1_0();
    const auto framed = [&](std::string_view some) { return in_chunks ? chunk(some) : std::string(some); };
    filler_ = response.filler.empty() ? "" : framed(response.filler);
    probe_ = filler_;
    has_begun_ = true;
    if (!connection_.write(head_of(response, in_chunks ? "Transfer-Encoding: chunked\r\n" : "")) || is_head) {
      return;
    }
    bool is_whole = true;
    try {
      response.stream(request_, [&](std::string_view some) {
        is_whole = is_whole && (some.empty() || connection_.write(framed(some)));
        return is_whole;
      });
    } catch (const std::exception&) {
      return;  // the missing end shows the client that the response is incomplete
    }
    if (is_whole && in_chunks) {
      connection_.write("0\r\n\r\n");
    }
  }

  const Router& router_;
  Connection connection_;
  const std::atomic<bool>& ending_;
  const std::string_view no_memory_;
  bool has_begun_ = false;  // whether sending the response has begun
  const Clock::time_point start_time_ = Clock::now();
  RequestParser parser_{kLargestHead};
  std::string bytes_{};  // received but not parsed yet
  HttpRequest request_{};
  std::string filler_{};
  std::string_view probe_{};  // bytes that a waiting client would ignore now
};

}  // namespace

class HttpServer::Parts {
 public:
  Parts(std::vector<HttpRoute> routes, HttpOptions options)
      : router_(std::move(routes), std::move(options)), socket_(socket_of(router_.options())), listener_(socket_) {}

  std::string url() const {
    const bool six = socket_->host().find(':') != std::string::npos;
    return concat("http://", six ? "[" : "", socket_->host(), six ? "]" : "", ':', socket_->port(), '/');
  }

  void start() {
    const HttpResponse busy = router_.refusal(503);
    busy_ = head_of(busy, length_header(busy)) + busy.body;
    const HttpResponse no_memory = router_.no_memory();
    no_memory_ = head_of(no_memory, length_header(no_memory)) + no_memory.body;
    started_ = true;
    const int at_first = std::min(router_.options().most_connections, kThreadsAtFirst);
    try {
      for (int i = 0; i < at_first; ++i) {
        threads_.emplace_back([this] { work(); });
      }
      listens_ = true;
      listening_ = std::thread([this] {
        listener_.run([this](int socket) { take(socket); }, ending_);
        listens_ = false;
      });
    } catch (const std::system_error& error) {
      const std::size_t started = threads_.size();
      stop();
      fail("the server could start only ", started, " threads, expected ", at_first + 1, ": ", describe_errno(error.code().value()),
           "; raise the limits on threads and memory (ulimit -u, ulimit -v), or end other programs");
    }
  }

  bool is_running() const { return listens_; }

  /// Ends all threads. Connections that wait for the system's accept() are refused, or left for the next server.
  void stop(bool hands_over = false) {
    if (!std::exchange(started_, false)) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    listener_.wake();
    has_work_.notify_all();
    if (listening_.joinable()) {
      listening_.join();  // this thread starts others
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    listens_ = false;
    // Send every client a response, and allow a moment to take it.
    for (const int socket : std::exchange(waiting_, {})) {
      refuse(socket);
    }
    if (!hands_over) {
      listener_.accept_all([this](int socket) { refuse(socket); });
    }
    listener_.linger(kLastMoment);
  }

  std::shared_ptr<const ListeningSocket> hand_over() {
    stop(true);
    return socket_;
  }

 private:
  static std::shared_ptr<const ListeningSocket> socket_of(const HttpOptions& options) {
    return options.socket != nullptr ? options.socket : std::make_shared<const ListeningSocket>(options.host, options.port, options.ports);
  }

  void refuse(int socket) {
    send_at_once(socket, busy_);
    listener_.end(socket);
  }

  /// Queues a new connection for the threads. Refuses it at once if too many are open, or no thread can be started for it.
  void take(int socket) {
    {
      const std::lock_guard lock(mutex_);
      if (open_ < router_.options().most_connections && has_thread_for_another()) {
        ++open_;
        waiting_.push_back(socket);
        has_work_.notify_one();
        return;
      }
    }
    refuse(socket);
  }

  /// Returns whether a thread is free for one more connection; starts one if none is.
  bool has_thread_for_another() {
    if (open_ < std::ssize(threads_)) {
      return true;
    }
    try {
      threads_.emplace_back([this] { work(); });
      return true;
    } catch (const std::exception&) {  // the system has no more threads or memory
      return false;
    }
  }

  /// Answers connections, one after another.
  void work() {
    for (;;) {
      int socket = -1;
      {
        std::unique_lock lock(mutex_);
        has_work_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        if (ending_) {
          return;
        }
        socket = waiting_.front();
        waiting_.pop_front();
      }
      try {
        Exchange(router_, socket, ending_, no_memory_).run();
      } catch (const std::exception&) {  // such as lack of memory: only this client's connection ends
      }
      {
        const std::lock_guard lock(mutex_);
        --open_;  // before the client sees the end, because it may connect again at once
      }
      listener_.end(socket);
    }
  }

  Router router_;
  std::shared_ptr<const ListeningSocket> socket_;
  Listener listener_;
  // The complete responses to a connection that is refused, and to a request for which there is no memory.
  std::string busy_{}, no_memory_{};
  bool started_ = false;
  std::atomic<bool> ending_ = false, listens_ = false;
  std::mutex mutex_;  // guards the next three members
  std::condition_variable has_work_;
  std::deque<int> waiting_;
  int open_ = 0;                      // connections that wait or are being answered
  std::vector<std::thread> threads_;  // started as connections need them; only start(), the listening thread and then stop() use them
  std::thread listening_;
};

HttpServer::HttpServer(std::vector<HttpRoute> routes, HttpOptions options)
    : parts_(std::make_unique<Parts>(std::move(routes), std::move(options))) {}
HttpServer::~HttpServer() { stop(); }
std::string HttpServer::url() const { return parts_->url(); }
void HttpServer::start() { parts_->start(); }
bool HttpServer::is_running() const { return parts_->is_running(); }
void HttpServer::stop() { parts_->stop(); }
std::shared_ptr<const ListeningSocket> HttpServer::hand_over() { return parts_->hand_over(); }

}  // namespace dikkat
