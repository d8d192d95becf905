#include "train/http/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <httplib.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLargestHead = std::size_t{64} << 10;
constexpr auto kHeadTime = std::chrono::seconds(10);     // for the request line and headers
constexpr auto kRequestTime = std::chrono::seconds(30);  // for all of a request
constexpr auto kWriteTime = std::chrono::seconds(10);    // without a byte that the client takes
constexpr auto kLastWrites = milliseconds(500);          // when the server ends
constexpr auto kLinger = std::chrono::seconds(1);
constexpr auto kMoment = milliseconds(50);               // between looks at whether the server ends

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>('A' <= c && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

/// The host that a client asked for, without a port.
std::string host_of(const std::string& header) {
  if (header.starts_with('[')) {
    return header.substr(1, header.find(']') - 1);
  }
  return header.substr(0, header.find(':'));
}

/// Sends what there is room for at once, to a client whose request is not read.
void send_at_once(int socket, const std::string& text) {
  [[maybe_unused]] const auto ignored = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Waits for events on a socket. False if they do not come in time, or the server ends.
bool wait_for(int socket, short events, Clock::time_point deadline, const std::atomic<bool>& ending) {
  while (!ending) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return false;
    }
    pollfd one{.fd = socket, .events = events, .revents = 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, milliseconds(kMoment)).count())) > 0) {
      return true;
    }
  }
  return false;
}

/// One client's connection, as the library reads and writes it, with limits that the library does not have.
class Connection final : public httplib::Stream {
 public:
  Connection(int socket, std::size_t largest_body, const std::atomic<bool>& ending)
      : socket_(socket), largest_body_(largest_body), ending_(ending), began_(Clock::now()) {
    request.is_gone = [this] { return is_gone(); };
  }

  HttpRequest request{};
  int refused = 0;          // the status, where a limit was exceeded
  bool has_answer = false;  // something was sent

  ssize_t read(char* to, std::size_t size) override {
    if (refused != 0 || size == 0 || (next_ == end_ && !fill())) {
      return -1;
    }
    const std::size_t count = std::min(size, end_ - next_);
    if (!count_in(std::string_view(buffer_.data() + next_, count))) {
      return -1;
    }
    std::copy_n(buffer_.data() + next_, count, to);
    next_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* data, std::size_t size) override {
    has_answer = true;
    auto deadline = Clock::now() + kWriteTime;
    bool hurries = false;
    for (std::size_t sent = 0; sent < size;) {
      const ssize_t some = ::send(socket_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (some > 0) {
        sent += static_cast<std::size_t>(some);
        deadline = Clock::now() + kWriteTime;
        continue;
      }
      if (some < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        return -1;
      }
      if (ending_ && !hurries) {
        hurries = true;
        deadline = std::min(deadline, Clock::now() + kLastWrites);
      }
      pollfd one{.fd = socket_, .events = POLLOUT, .revents = 0};
      ::poll(&one, 1, static_cast<int>(kMoment.count()));
      if (Clock::now() > deadline) {
        return -1;
      }
    }
    return static_cast<ssize_t>(size);
  }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

  bool is_gone() const {
    pollfd one{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  /// Ends the connection. What the client still sends is read and dropped for a moment: closing at once would take the response back.
  void close() {
    ::shutdown(socket_, SHUT_WR);
    const auto deadline = Clock::now() + kLinger;
    while (wait_for(socket_, POLLIN, deadline, ending_) && ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
    }
    ::close(socket_);
  }

 private:
  bool fill() {
    const auto deadline = began_ + (head_ended_ ? kRequestTime : kHeadTime);
    if (!wait_for(socket_, POLLIN, deadline, ending_)) {
      refused = 408;
      return false;
    }
    const ssize_t some = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    next_ = 0;
    end_ = static_cast<std::size_t>(std::max<ssize_t>(some, 0));
    return some > 0;
  }

  /// Counts bytes that are about to be given out. False, and `refused` is set, where there are too many.
  bool count_in(std::string_view bytes) {
    if (head_ended_) {
      body_ += bytes.size();
      if (body_ > 2 * largest_body_ + kLargestHead) {  // also of what says how long chunks are
        refused = 413;
      }
    } else {
      for (const char c : bytes) {
        ++head_;
        head_ended_ = c == '\n' && line_is_empty_ && head_ > 2;
        line_is_empty_ = c == '\n' || (c == '\r' && line_is_empty_);
        if (head_ended_) {
          break;  // the library reads a head byte by byte: this is the last one
        }
      }
      if (head_ > kLargestHead) {
        refused = 431;
      }
    }
    return refused == 0;
  }

  int socket_;
  std::size_t largest_body_;
  const std::atomic<bool>& ending_;
  Clock::time_point began_;
  std::array<char, 16384> buffer_{};
  std::size_t next_ = 0, end_ = 0;
  std::size_t head_ = 0, body_ = 0;  // bytes that were read of them
  bool head_ended_ = false, line_is_empty_ = true;
};

/// The connection that this thread answers: the library's callbacks do not say.
thread_local Connection* connection = nullptr;

/// The library's server, with connections of ours.
class Listener final : public httplib::Server {
 public:
  Listener(int most_connections, std::size_t largest_body) : most_connections_(most_connections), largest_body_(largest_body) {}

  std::function<std::string(int status)> raw_refusal;  // a whole response
  std::atomic<bool> ending = false;

 private:
  bool process_and_close_socket(socket_t socket) override {
    Connection one(socket, largest_body_, ending);
    if (const Counted counted(open_); counted.number <= most_connections_) {
      answer(one);
    } else {
      send_at_once(socket, raw_refusal(503));
      ::close(socket);
      return false;
    }
    one.close();  // no longer counted: a client that sees the end may come again at once
    return true;
  }

  void answer(Connection& one) {
    connection = &one;
    bool closed = false;
    try {
      process_request(one, true, closed, [](httplib::Request& request) {
        request.ranges.clear();                    // nothing here is read in part
        request.headers.erase("Accept-Encoding");  // a compressor would hold back what is sent piece by piece
      });
    } catch (const std::exception&) {  // of a response that is being written: its client sees it end
    }
    if (!one.has_answer && one.refused != 0) {
      send_at_once(one.socket(), raw_refusal(one.refused));
    }
    connection = nullptr;
  }

  struct Counted {
    explicit Counted(std::atomic<int>& count) : count_(count), number(++count) {}
    ~Counted() { --count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>& count_;
    int number;
  };

  int most_connections_;
  std::size_t largest_body_;
  std::atomic<int> open_ = 0;
};

}  // namespace

bool is_loopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127;
  }
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 ? IN6_IS_ADDR_LOOPBACK(&six) : lower(host) == "localhost";
}

namespace {

/// Why nobody can listen there, as the system says when it is asked once more: the library does not keep it. 0 where it works now.
struct Obstacle {
  int error = 0;
  std::string text{};  // a sentence's end
};

Obstacle obstacle_at(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), concat(port).c_str(), &wanted, &found); failed != 0) {
    return {EADDRNOTAVAIL, concat("no address of this name is found (", ::gai_strerror(failed), "), expected one of this machine, such as 127.0.0.1")};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    const int yes = 1;
    const bool works = socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                       ::bind(socket, one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket, 1) == 0;
    error = works ? 0 : errno;
    if (socket >= 0) {
      ::close(socket);
    }
    if (works) {
      return {};
    }
  }
  switch (error) {
    case EADDRINUSE: return {error, "another program listens there already: choose another port, or end that program"};
    case EADDRNOTAVAIL: return {error, "this machine has no such address, expected one of its own, 127.0.0.1, or 0.0.0.0 for all of them"};
    case EACCES: return {error, "the system does not permit it; ports below 1024 are for the administrator: choose a higher one"};
    default: return {error, describe_errno(error)};
  }
}

}  // namespace

class HttpServer::Parts {
 public:
  Parts(std::vector<HttpRoute> routes, HttpOptions options)
      : routes_(std::move(routes)), options_(std::move(options)), listener_(options_.most_connections, options_.largest_body) {
    const int threads = options_.most_connections + 1;  // one is left to refuse
    listener_.new_task_queue = [threads] { return new httplib::ThreadPool(static_cast<std::size_t>(threads)); };
    listener_.set_payload_max_length(options_.largest_body);
    listener_.set_tcp_nodelay(true);
    listener_.set_socket_options([](int socket) {  // not the library's own, by which two servers would share a port
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    listener_.raw_refusal = [this](int status) { return raw(status); };
    listener_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const auto early = before_the_body(request);
      if (early) {
        give(*early, response);
      }
      return early ? httplib::Server::HandlerResponse::Handled : httplib::Server::HandlerResponse::Unhandled;
    });
    for (const HttpRoute& route : routes_) {
      if (route.method == "POST") {
        listener_.Post(route.path, [this, &route](const httplib::Request& request, httplib::Response& response) {
          connection->request.body = request.body;
          give(request.body.size() > options_.largest_body ? refusal(413) : answer(route), response);
        });
      }
    }
    listener_.set_error_handler(httplib::Server::Handler([this](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty() && !response.content_provider_) {  // of the library's own
        give(refusal(connection->refused != 0 ? connection->refused : response.status), response);
      }
    }));
    listener_.set_logger([this](const httplib::Request& request, const httplib::Response& response) {
      if (connection->request.method.empty()) {
        connection->request.method = request.method;
        connection->request.path = request.path;
      }
      if (options_.finished) {
        options_.finished(connection->request, response.status);
      }
    });
    bind();
  }

  std::string url() const {
    const bool six = options_.host.find(':') != std::string::npos;
    return concat("http://", six ? "[" : "", options_.host, six ? "]" : "", ':', port_, '/');
  }

  void start() {
    thread_ = std::thread([this] {
      listener_.listen_after_bind();
      has_ended_ = true;
    });
    while (!listener_.is_running() && !has_ended_) {  // before that, stop() would do nothing
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  bool is_running() const { return thread_.joinable() && !has_ended_; }
  void stop() {
    listener_.ending = true;
    listener_.stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  void bind() {
    if (options_.port == 0) {
      port_ = listener_.bind_to_any_port(options_.host);
      require_input(port_ > 0, "cannot listen on ", options_.host, ": ", obstacle_at(options_.host, 0).text);
      return;
    }
    const auto refuse = [&](const Obstacle& obstacle) {
      fail_input("cannot listen on ", options_.host, ", port ", port_, ": ", obstacle.error == 0 ? "it was taken for a moment; try again" : obstacle.text);
    };
    for (port_ = options_.port; port_ < options_.port + options_.ports; ++port_) {
      if (listener_.bind_to_port(options_.host, port_)) {
        return;
      }
      if (const Obstacle obstacle = obstacle_at(options_.host, port_); options_.ports == 1 || (obstacle.error != EADDRINUSE && obstacle.error != 0)) {
        refuse(obstacle);
      }
    }
    fail_input("cannot listen on ", options_.host, ": none of the ports from ", options_.port, " to ", options_.port + options_.ports - 1, " is free");
  }

  /// The response, unless the body has to be read for it.
  std::optional<HttpResponse> before_the_body(const httplib::Request& request) {
    HttpRequest& own = connection->request;
    own.method = request.method;
    own.path = request.path;
    own.authorization = request.get_header_value("Authorization");
    if (is_loopback(options_.host) && !is_loopback(host_of(request.get_header_value("Host")))) {
      return refusal(403);
    }
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    std::string allowed;
    const HttpRoute* found = nullptr;
    for (const HttpRoute& route : routes_) {
      if (route.path == request.path) {
        allowed += (allowed.empty() ? "" : ", ") + route.method;
        found = route.method == method ? &route : found;
      }
    }
    if (found == nullptr) {
      if (allowed.empty()) {
        return refusal(404);
      }
      HttpResponse response = options_.refusal(405, concat("this address takes ", allowed, ", and the request is ", request.method));
      response.headers.emplace_back("Allow", allowed);
      return response;
    }
    if (options_.admit) {
      if (auto refused = options_.admit(own)) {
        return refused;
      }
    }
    if (method == "GET") {
      return answer(*found);
    }
    const std::string type = lower(request.get_header_value("Content-Type"));
    if (type.substr(0, std::min(type.find(';'), type.find(' '))) != "application/json") {
      return options_.refusal(415, concat("the request has ", type.empty() ? "no Content-Type" : "another Content-Type", ", expected Content-Type: application/json"));
    }
    if (const std::string coding = lower(request.get_header_value("Content-Encoding")); !coding.empty() && coding != "identity") {
      return options_.refusal(415, "the body is compressed (Content-Encoding), expected one that is not");
    }
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) {
      return refusal(411);
    }
    return std::nullopt;
  }

  HttpResponse answer(const HttpRoute& route) const {
    try {
      return route.answer(connection->request);
    } catch (const std::exception& error) {
      return options_.refusal(500, error.what());
    }
  }

  HttpResponse refusal(int status) const {
    const auto what = [&]() -> std::string {
      switch (status) {
        case 400: return "the request is not HTTP/1.1, or broke off";
        case 403: return "this server answers to localhost alone: the Host of the request is another one";
        case 404: return concat("there is nothing at this address; ", addresses());
        case 408: return "the request did not arrive in time";
        case 411: return "the request has no Content-Length";
        case 413: return concat("the body has more than ", options_.largest_body, " bytes, the most that this server takes: send less");
        case 414: return "the address of the request is too long, expected at most 8192 bytes";
        case 415: return "the body is in a form that this server does not take, expected application/json that is not compressed";
        case 431: return concat("the headers have more than ", kLargestHead, " bytes");
        case 503: return "too many connections are open: try again in a moment";
        default: return concat("the request failed with status ", status);
      }
    };
    HttpResponse response = options_.refusal(status, what());
    if (status == 503) {
      response.headers.emplace_back("Retry-After", "1");
    }
    return response;
  }

  std::string addresses() const {
    std::string all;
    for (const HttpRoute& route : routes_) {
      append_to(all, concat(all.empty() ? "expected one of " : ", ", route.method, ' ', route.path));
    }
    return all;
  }

  /// A refusal as it goes over the wire.
  std::string raw(int status) const {
    const HttpResponse response = refusal(status);
    std::string text = concat("HTTP/1.1 ", status, " Refused\r\nConnection: close\r\nContent-Type: ", response.type,
                              "\r\nContent-Length: ", response.body.size(), "\r\n");
    for (const auto& [name, value] : response.headers) {
      append_to(text, concat(name, ": ", value, "\r\n"));
    }
    return text + "\r\n" + response.body;
  }

  static void give(const HttpResponse& from, httplib::Response& to) {
    to.status = from.status;
    to.set_header("Cache-Control", "no-store");
    to.set_header("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : from.headers) {
      to.set_header(name, value);
    }
    if (!from.stream) {
      to.set_content(from.body, from.type);
      return;
    }
    to.set_chunked_content_provider(from.type, [stream = from.stream](std::size_t, httplib::DataSink& sink) {
      bool whole = true;
      stream(connection->request, [&](std::string_view some) {
        whole = whole && (some.empty() || sink.write(some.data(), some.size()));
        return whole;
      });
      if (whole) {
        sink.done();
      }
      return whole;
    });
  }

  std::vector<HttpRoute> routes_;
  HttpOptions options_;
  Listener listener_;
  int port_ = 0;
  std::thread thread_;
  std::atomic<bool> has_ended_ = false;
};

HttpServer::HttpServer(std::vector<HttpRoute> routes, HttpOptions options) : parts_(std::make_unique<Parts>(std::move(routes), std::move(options))) {}
HttpServer::~HttpServer() { stop(); }
std::string HttpServer::url() const { return parts_->url(); }
void HttpServer::start() { parts_->start(); }
bool HttpServer::is_running() const { return parts_->is_running(); }
void HttpServer::stop() { parts_->stop(); }

}  // namespace dikkat
