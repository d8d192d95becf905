#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dikkat {

/// A socket to which clients can connect. After its construction, the system accepts connections, and keeps them until a Listener takes
/// them.
class ListeningSocket {
 public:
  /// Listens at `host`, at the first free one of `ports` ports starting at `port`; port 0 means any free port. Throws InputError if none
  /// works.
  ListeningSocket(std::string host, int port, int ports);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  const std::string& host() const { return host_; }
  int port() const { return port_; }
  /// Returns the socket's descriptor.
  int number() const { return socket_; }

 private:
  std::string host_;
  int port_ = 0;
  int socket_ = -1;
};

/// Accepts the connections of a socket. The thread of run() passes new connections on, and ends those that have been answered.
class Listener {
 public:
  /// Throws Error if the system has no resources left.
  explicit Listener(std::shared_ptr<const ListeningSocket> socket);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const ListeningSocket& socket() const { return *socket_; }

  /// Passes every new connection to `take`, until `ending` is set or the system provides no more.
  void run(const std::function<void(int socket)>& take, const std::atomic<bool>& ending);
  /// Ends a connection that has been answered, on the thread of run(). Bytes that its client still sends are read and dropped for up to a
  /// second, because closing a socket with unread bytes can discard its response. May be called from any thread, also within `take`.
  void end(int socket);
  /// Makes run() check `ending` at once.
  void wake();

  // Call these functions after run().

  /// Passes the waiting connections to `take`.
  void accept_all(const std::function<void(int socket)>& take);
  /// Waits at most this time until the clients of answered connections have taken their responses.
  void linger(std::chrono::milliseconds most);

 private:
  /// A connection whose response has been sent, but which the client has not closed yet.
  struct LingeringSocket {
    int socket = -1;
    std::chrono::steady_clock::time_point deadline{};
  };

  /// Accepts the connections that wait, until `ending` is set. Returns false if the system provides no more.
  bool accept_waiting(const std::function<void(int socket)>& take, const std::atomic<bool>& ending);
  /// Waits until something can be done for a lingering socket or, with `accepts`, a new connection or a call of wake() or end(). Ends the
  /// lingering sockets that are done. Returns whether there is a new connection.
  bool wait(bool accepts);
  /// Takes over the sockets that were passed to end().
  void take_answered();

  std::shared_ptr<const ListeningSocket> socket_;
  int pipe_[2] = {-1, -1};  // carries descriptors of sockets to end, and -1 to wake run()
  std::vector<LingeringSocket> lingering_{};
};

}  // namespace dikkat
