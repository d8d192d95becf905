#include "train/web/http/listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kLinger = std::chrono::seconds(1);  // the time in which a client can take its response
constexpr std::size_t kMostLingering = 256;
constexpr int kBacklog = 128;

/// The reason why the program cannot listen at an address.
struct Obstacle {
  int error = 0;  // errno; 0: it can listen there
  std::string text{};
};

Obstacle obstacle(int error) {
  switch (error) {
    case EADDRINUSE: return {error, "another program already listens there: choose another port, or end that program"};
    case EADDRNOTAVAIL:
      return {error, "this machine does not have this address, expected one of its addresses, 127.0.0.1, or 0.0.0.0 for all of them"};
    case EACCES: return {error, "the system does not permit it; ports below 1024 are reserved for the administrator: choose a higher one"};
    default: return {error, describe_errno(error)};
  }
}

/// Opens a socket that listens at the first usable address of this host name.
std::pair<int, Obstacle> listen_at(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), concat(port).c_str(), &wanted, &found); failed != 0) {
    return {-1,
            {EADDRNOTAVAIL,
             concat("the host has no address (", ::gai_strerror(failed), "), expected an address of this machine, such as 127.0.0.1")}};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol);
    const int yes = 1;
    if (socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(socket, one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket, kBacklog) == 0) {
      return {socket, {}};
    }
    error = errno;
    if (socket >= 0) {
      ::close(socket);
    }
  }
  return {-1, obstacle(error)};
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// Reads and drops the bytes that have arrived. Returns false if the client has closed the connection.
bool drain(int socket) {
  std::array<char, 16384> buffer;
  for (int pieces = 0; pieces < 16; ++pieces) {
    const ssize_t some = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (some <= 0) {
      return some < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    }
  }
  return true;  // the remaining bytes wait, so that other connections have their turn
}

/// Returns whether accepting connections may work again after this error. Errors of one connection or of the network are temporary, and a
/// shortage may be.
bool passes(int error) {
  switch (error) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP: return false;
    default: return true;
  }
}

}  // namespace

ListeningSocket::ListeningSocket(std::string host, int port, int ports) : host_(std::move(host)) {
  for (port_ = port; port_ < port + ports; ++port_) {
    const auto [socket, obstacle] = listen_at(host_, port_);
    if (socket >= 0) {
      socket_ = socket;
      port_ = port_of(socket);
      return;
    }
    // Try another port only if this one is taken.
    if (port_ == 0) {
      fail_input("cannot listen on ", host_, ": ", obstacle.text);
    }
    if (ports == 1 || obstacle.error != EADDRINUSE) {
      fail_input("cannot listen on ", host_, ", port ", port_, ": ", obstacle.text);
    }
  }
  fail_input("cannot listen on ", host_, ": none of the ports from ", port, " to ", port + ports - 1, " is free");
}

ListeningSocket::~ListeningSocket() { ::close(socket_); }

Listener::Listener(std::shared_ptr<const ListeningSocket> socket) : socket_(std::move(socket)) {
  if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int error = errno;
    fail("cannot listen on ", socket_->host(), ": cannot create a pipe: ", describe_errno(error));
  }
}

Listener::~Listener() {
  take_answered();
  for (const LingeringSocket& one : lingering_) {
    ::close(one.socket);
  }
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

void Listener::end(int socket) {
  ::shutdown(socket, SHUT_WR);
  if (::write(pipe_[1], &socket, sizeof socket) != sizeof socket) {  // the pipe is full
    ::close(socket);
  }
}

void Listener::wake() {
  const int nothing = -1;
  [[maybe_unused]] const auto ignored = ::write(pipe_[1], &nothing, sizeof nothing);
}

void Listener::take_answered() {
  int socket = -1;
  while (::read(pipe_[0], &socket, sizeof socket) == sizeof socket) {
    if (socket >= 0) {
      lingering_.push_back({socket, Clock::now() + kLinger});
    }
  }
}

bool Listener::wait(bool accepts) {
  std::vector<pollfd> polled;
  int wait = -1;
  for (const LingeringSocket& one : lingering_) {
    polled.push_back({.fd = one.socket, .events = POLLIN, .revents = 0});
    const auto left = std::chrono::ceil<milliseconds>(one.deadline - Clock::now()).count();
    const int at_most = static_cast<int>(std::max<milliseconds::rep>(left, 0));
    wait = wait < 0 ? at_most : std::min(wait, at_most);
  }
  if (accepts) {
    polled.push_back({.fd = pipe_[0], .events = POLLIN, .revents = 0});
    polled.push_back({.fd = socket_->number(), .events = POLLIN, .revents = 0});
  }
  ::poll(polled.data(), polled.size(), wait);

  // Drop bytes that answered clients still send. Close connections that the client has closed, that are too old, or too many, oldest first.
  std::vector<LingeringSocket> kept;
  for (std::size_t i = 0; i < lingering_.size(); ++i) {
    const bool is_open = polled[i].revents == 0 || drain(lingering_[i].socket);
    if (is_open && Clock::now() < lingering_[i].deadline && lingering_.size() - i <= kMostLingering) {
      kept.push_back(lingering_[i]);
    } else {
      ::close(lingering_[i].socket);
    }
  }
  lingering_ = std::move(kept);
  return accepts && (polled.back().revents & POLLIN) != 0;
}

bool Listener::accept_waiting(const std::function<void(int socket)>& take, const std::atomic<bool>& ending) {
  while (!ending) {
    const int socket = ::accept4(socket_->number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      // If the system lacks resources, wait a moment before trying again.
      const bool accepts = passes(errno);
      if (accepts && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
        std::this_thread::sleep_for(milliseconds(20));
      }
      return accepts;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    take(socket);
  }
  return true;
}

void Listener::run(const std::function<void(int socket)>& take, const std::atomic<bool>& ending) {
  bool accepts = true;
  while (!ending && accepts) {
    const bool has_new = wait(true);
    take_answered();
    accepts = !has_new || accept_waiting(take, ending);
  }
}

void Listener::accept_all(const std::function<void(int socket)>& take) {
  for (int count = 0; count < kBacklog; ++count) {
    const int socket = ::accept4(socket_->number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      return;
    }
    take(socket);
  }
}

void Listener::linger(milliseconds most) {
  const auto end = Clock::now() + most;
  take_answered();
  for (LingeringSocket& one : lingering_) {
    one.deadline = std::min(one.deadline, end);
  }
  while (!lingering_.empty()) {
    wait(false);
  }
}

}  // namespace dikkat
