#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

namespace dikkat {

/// The socket of one client, with limits on the time for reading and writing. Every wait ends within half a second after `ending` is set.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  /// The result of a read: bytes came, the client has closed the connection, or the time is over.
  enum class Read { some, ended, late };

  /// Does not own the socket. `ending` must outlive the connection.
  Connection(int socket, const std::atomic<bool>& ending) : socket_(socket), ending_(ending) {}

  /// Waits for bytes until `deadline` and appends them to `bytes`.
  Read read(std::string& bytes, Clock::time_point deadline);
  /// Sends all of `bytes`. Returns false if the client is gone, or has taken no byte for ten seconds.
  bool write(std::string_view bytes);
  /// Returns whether nobody waits for the response any more. A client that has closed only its sending side still waits, but looks as if it
  /// is gone until something is sent. So the first call for such a client sends `probe`: bytes that a waiting client ignores, or none.
  bool is_gone(std::string_view probe);

 private:
  int socket_;
  const std::atomic<bool>& ending_;
  bool has_probed_ = false, has_failed_ = false;
};

/// Sends as many of the bytes as the socket takes without waiting.
void send_at_once(int socket, std::string_view bytes);

}  // namespace dikkat
