#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

namespace dikkat {

/// The socket of one client, with limits on the time that reading and writing may take. Every wait ends within half a second of `ending`.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Read { some, ended, late };

  /// Does not own the socket. `ending` must outlive the connection.
  Connection(int socket, const std::atomic<bool>& ending) : socket_(socket), ending_(ending) {}

  /// Waits for bytes until `deadline` and appends them to `bytes`.
  Read read(std::string& bytes, Clock::time_point deadline);
  /// Sends all of `bytes`. False if the client has gone, or takes no byte for ten seconds.
  bool write(std::string_view bytes);
  /// Whether nobody waits for the response any more. A client that has closed only its sending side still waits, and looks the same as one
  /// that has gone until something is sent. So the first look at such a client sends `probe`, which must be bytes that a waiting client
  /// ignores; they may be none.
  bool is_gone(std::string_view probe);

 private:
  int socket_;
  const std::atomic<bool>& ending_;
  bool has_probed_ = false, has_failed_ = false;
};

/// Sends what there is room for at once.
void send_at_once(int socket, std::string_view bytes);

}  // namespace dikkat
