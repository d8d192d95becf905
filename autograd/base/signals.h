#pragma once

#include <csignal>

namespace dikkat {

/// Blocks all signals on the calling thread for good, and so on all threads that it starts afterwards. Signals that a thread's own
/// instructions raise (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, and abort()'s SIGABRT) are not blocked. A program calls this
/// first in main(), and starts one thread with the old mask to handle signals. Returns the old mask.
sigset_t block_signals_for_good() noexcept;

}  // namespace dikkat
