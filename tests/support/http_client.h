#pragma once

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dikkat::testing {

/// A connection to a server on 127.0.0.1 that sends any bytes a test wants.
class HttpClient {
 public:
  /// `url`: "http://127.0.0.1:8080/"
  explicit HttpClient(const std::string& url) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(url.c_str() + url.rfind(':') + 1)));
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << url;
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void close() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }
  /// Ends the sending direction. The client continues reading.
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }
  /// Returns false if the server does not take all bytes.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Reads until the response contains `until`, or ends, and returns it. Fails the test after 20 seconds.
  std::string read(const std::string& until = {}) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (until.empty() || read_.find(until) == std::string::npos) {
      pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
      char buffer[4096];
      if (::poll(&one, 1, 100) > 0) {
        const ssize_t some = ::recv(socket_, buffer, sizeof buffer, 0);
        if (some <= 0) {
          break;
        }
        read_.append(buffer, static_cast<std::size_t>(some));
      } else if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no answer but: " << read_;
        break;
      }
    }
    return read_;
  }

 private:
  int socket_;
  std::string read_;
};

/// A parsed response.
struct HttpReply {
  int status = 0;
  std::string head{}, body{};
};

inline HttpReply reply_of(const std::string& text) {
  HttpReply reply;
  const std::size_t end = std::min(text.find("\r\n\r\n"), text.size());
  reply.head = text.substr(0, end);
  reply.status = reply.head.size() > 9 ? std::atoi(reply.head.c_str() + 9) : 0;
  std::string rest = text.substr(std::min(end + 4, text.size()));
  if (reply.head.find("chunked") == std::string::npos) {
    reply.body = rest;
    return reply;
  }
  for (;;) {
    const std::size_t size = std::strtoul(rest.c_str(), nullptr, 16), begin = rest.find("\r\n") + 2;
    if (begin == std::string::npos + 2 || size == 0) {
      return reply;
    }
    reply.body += rest.substr(begin, size);
    rest = rest.substr(std::min(begin + size + 2, rest.size()));
  }
}

inline std::string get_request(const std::string& path, const std::string& headers = {}) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}
inline std::string post_request(const std::string& path, const std::string& body, const std::string& headers = {}) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

/// Sends bytes and reads the response.
inline HttpReply ask(const std::string& url, const std::string& request) {
  HttpClient client(url);
  client.send(request);
  return reply_of(client.read());
}

}  // namespace dikkat::testing
