#pragma once

namespace dikkat {

/// Blocks signals on this thread, and so on all threads that it starts, and starts one thread that receives them. Thus no handler ever runs
/// on a thread that computes (autograd/base/signals.h explains why). main() calls it before any other thread is started.
///
/// SIGINT, SIGTERM, SIGUSR1 and SIGHUP (where it is not ignored, as under nohup) end the process at once with exit code 128 + signal:
/// there is nothing to save yet. SIGPIPE and SIGXFSZ stay blocked on the thread whose write raises them, so the write fails instead. A
/// SIGBUS from a mapped file that was cut short ends the process with exit code 2 and a message that names the file. Throws Error if the
/// thread cannot be started.
void handle_signals();

/// Lets the next of these signals only set stop_signal(), so that the work can be finished and saved. A second one ends the process at
/// once.
void stop_in_order();

/// Undoes stop_in_order(): the next signal ends the process at once.
void stop_at_once();

/// Clears a SIGINT that has been handled, so that the program continues. Other signals are not cleared.
void forget_interrupt();

/// Returns the signal that asked the program to stop, or 0.
int stop_signal();
inline bool stop_requested() { return stop_signal() != 0; }
/// Returns a descriptor for poll(): readable once a signal asks the program to stop, until forget_interrupt(). -1 if the system had none
/// left.
int stop_descriptor();

}  // namespace dikkat
