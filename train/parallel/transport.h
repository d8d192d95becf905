#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// Moves bytes between the processes of a run, which are called ranks: MPI, or threads in tests. It adds nothing up. Calls come from one
/// thread at a time.
class Transport {
 public:
  /// A message on its way. Null: there is none, or it has arrived.
  using Message = void*;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "Open MPI 4.1.4".
  virtual std::string name() const = 0;
  /// The machine that this rank runs on.
  virtual std::string host() const = 0;
  /// Begins to send. The bytes must stay as they are until done(). Messages between two ranks arrive in the order in which they were sent.
  /// At most 1 GiB.
  virtual Message send(int to, const void* from, std::size_t bytes) = 0;
  /// Begins to receive what that rank sends next, which has so many bytes.
  virtual Message receive(int from, void* to, std::size_t bytes) = 0;
  /// Whether it has arrived, or left. Then `message` becomes null.
  virtual bool done(Message& message) = 0;
  /// Ends all ranks with this exit code, now.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace dikkat
