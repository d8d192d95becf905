#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace dikkat {

/// A socket that accepts connections. The thread of run() passes new connections on, and ends those that have been answered.
class Listener {
 public:
  /// Listens at `host`, at the first free one of `ports` ports from `port` on; port 0 means any free port. Throws InputError if none works.
  Listener(std::string host, int port, int ports);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& host() const { return host_; }
  int port() const { return port_; }

  /// Passes every new connection to `take`, until `ending` is set or the system provides no more. Then closes the sockets that it still
  /// has.
  void run(const std::function<void(int socket)>& take, const std::atomic<bool>& ending);
  /// Ends a connection that has been answered, on the thread of run(). Bytes that its client still sends are read and dropped for up to a
  /// second, because closing a socket with unread bytes can discard its response. May be called from any thread, also within `take`.
  void end(int socket);
  /// Makes run() check `ending` at once.
  void wake();

 private:
  void bind(int port, int ports);
  /// The next socket that was passed to end(); -1 if there is none.
  int next_from_pipe() const;

  std::string host_;
  int port_ = 0;
  int socket_ = -1;
  int pipe_[2] = {-1, -1};  // carries the numbers of sockets to end, and -1 to wake run()
};

}  // namespace dikkat
