#include "train/web/http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace dikkat {
namespace {

using std::chrono::milliseconds;

constexpr auto kWriteTime = std::chrono::seconds(10);  // the longest time in which a client may take no byte
constexpr auto kLastWrites = milliseconds(500);        // the same, once the server ends
constexpr auto kMoment = milliseconds(50);             // time between checks whether the server ends

bool can_be_tried_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void send_at_once(int socket, std::string_view bytes) {
  [[maybe_unused]] const auto ignored = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Connection::Read Connection::read(std::string& bytes, Clock::time_point deadline) {
  std::array<char, 16384> buffer;
  while (!ending_) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return Read::late;
    }
    pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, milliseconds(kMoment)).count())) <= 0) {
      continue;
    }
    const ssize_t some = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (some > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(some));
      return Read::some;
    }
    if (some == 0 || !can_be_tried_again(errno)) {
      return Read::ended;
    }
  }
  return Read::late;
}

bool Connection::write(std::string_view bytes) {
  auto deadline = Clock::now() + kWriteTime;
  bool hurries = false;
  while (!bytes.empty() && !has_failed_) {
    const ssize_t some = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(some));
      deadline = Clock::now() + kWriteTime;
      continue;
    }
    if (some < 0 && !can_be_tried_again(errno)) {
      has_failed_ = true;
      break;
    }
    // The socket is full. If the server is ending, the client has only a short time to make room.
    if (ending_ && !hurries) {
      hurries = true;
      deadline = std::min(deadline, Clock::now() + kLastWrites);
    }
    pollfd one{.fd = socket_, .events = POLLOUT, .revents = 0};
    ::poll(&one, 1, static_cast<int>(kMoment.count()));
    has_failed_ = Clock::now() > deadline;
  }
  return !has_failed_;
}

bool Connection::is_gone(std::string_view probe) {
  pollfd one{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  if (has_failed_ || ::poll(&one, 1, 0) <= 0) {
    return has_failed_;
  }
  if ((one.revents & (POLLHUP | POLLERR)) != 0) {
    return true;
  }
  // The client has closed its sending side. If it is gone, its machine answers the probe with a reset, which the next call sees.
  if ((one.revents & POLLRDHUP) != 0 && !has_probed_) {
    has_probed_ = true;
    write(probe);
  }
  return has_failed_;
}

}  // namespace dikkat
