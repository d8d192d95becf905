#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace dikkat {

/// A socket that accepts connections, and the thread that watches over them: it hands new ones on, and ends those that have been answered.
class Listener {
 public:
  /// Listens at `host`, at the first of `ports` ports from `port` on that is free; port 0 takes any. Throws InputError if it cannot.
  Listener(std::string host, int port, int ports);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& host() const { return host_; }
  int port() const { return port_; }

  /// Gives every new connection to `take`, until `ending` is set or the system gives no more. Then closes all sockets that it has.
  void run(const std::function<void(int socket)>& take, const std::atomic<bool>& ending);
  /// Ends a connection that has been answered, on the thread of run(). What its client still sends is read and dropped for a second: a
  /// socket that is closed with bytes unread takes its response back. May be called from any thread, also within `take`.
  void end(int socket);
  /// Lets run() look at `ending` at once.
  void wake();

 private:
  void bind(int port, int ports);
  /// The next socket that was given to end(); -1 if there is none.
  int next_from_pipe() const;

  std::string host_;
  int port_ = 0;
  int socket_ = -1;
  int pipe_[2] = {-1, -1};  // a pipe: the sockets to end, as their numbers, or -1 to wake
};

}  // namespace dikkat
