#pragma once

#include <csignal>

// Signals and threads that compute. Some of the matrix library's machine code points the stack pointer into memory from the heap while it
// works (docs/RELIABILITY.md). A handler that runs on such a thread has its frame written below that pointer, over whatever lies there. So
// no handler may run on a thread that is inside such code.
namespace dikkat {

/// Blocks every signal on the calling thread, for good, and so on all threads that it starts afterwards. Signals that a thread's own
/// instructions raise (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, and abort()'s SIGABRT) are not blocked. A program that calls this
/// first in main(), and starts one thread with its old mask to take signals, pays nothing afterwards. Returns the mask from before.
sigset_t block_signals_for_good() noexcept;

/// Blocks the same signals on the calling thread while it lives; a signal that comes meanwhile is handled afterwards. Two system calls,
/// which take 0.3 us together, unless the thread's signals are blocked for good already.
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

/// For a thread of OpenMP's pool: blocks its signals for good, once. Does nothing on a thread that is inside of SignalsBlocked.
void block_signals_on_worker() noexcept;

}  // namespace dikkat
