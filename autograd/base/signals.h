#pragma once

#include <csignal>

// Keeps signal handlers away from threads that compute. Some machine code of the matrix library points the stack pointer into heap memory
// while it runs (docs/RELIABILITY.md). The frame of a signal handler is written below the stack pointer, so it would overwrite whatever
// lies there. So no handler may run on a thread that is inside such code.
namespace dikkat {

/// Blocks all signals on the calling thread for good, and so on all threads that it starts afterwards. Signals that a thread's own
/// instructions raise (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, and abort()'s SIGABRT) are not blocked. A program should call this
/// first in main(), and start one thread with the old mask to handle signals; then SignalsBlocked costs nothing. Returns the old mask.
sigset_t block_signals_for_good() noexcept;

/// Blocks the same signals on the calling thread while it lives; a signal that arrives meanwhile is handled afterwards. This takes two
/// system calls (0.3 us together), or nothing if the thread's signals are blocked for good.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  bool restores_;
  sigset_t before_{};
};

/// For a thread of OpenMP's pool: blocks its signals for good. Does nothing on a thread that has blocked them already.
void block_signals_on_worker() noexcept;

}  // namespace dikkat
