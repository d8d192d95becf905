#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// Moves bytes between the processes of a run, which are called ranks: by MPI, or between threads in tests. It computes nothing. One thread
/// at a time may call it.
class Transport {
 public:
  /// A message in flight; null if there is none, or if it has arrived.
  using Message = void*;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the transport's name: "Open MPI 4.1.4".
  virtual std::string name() const = 0;
  /// Returns the name of this rank's machine.
  virtual std::string host() const = 0;
  /// Begins to send at most 1 GiB. The bytes must not change until done(). Messages between two ranks arrive in the order of sending.
  virtual Message send(int to, const void* from, std::size_t bytes) = 0;
  /// Begins to receive the rank's next message, which has `bytes` bytes.
  virtual Message receive(int from, void* to, std::size_t bytes) = 0;
  /// Returns whether the message has arrived, or has been sent. Then `message` becomes null.
  virtual bool done(Message& message) = 0;
  /// Ends all ranks immediately with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace dikkat
