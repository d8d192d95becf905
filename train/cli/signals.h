#pragma once

namespace dikkat {

/// For main(), before any other thread is started: blocks signals on this thread, and so on all that it starts, and starts one thread that
/// takes them. So no handler ever runs on a thread that computes (autograd/base/signals.h says why).
///
/// SIGINT, SIGTERM, SIGUSR1 and SIGHUP (where it is not ignored, as under nohup) end the process at once with exit code 128 + signal, since
/// there is nothing to save yet. SIGPIPE and SIGXFSZ stay blocked on the thread whose write raises them, so the write fails instead. A
/// SIGBUS from a mapped file that was cut short ends the process with exit code 2 and a sentence that names the file. Throws Error if the
/// thread cannot be started.
void handle_signals();

/// From now on the first of these signals only sets stop_signal(), so that the work can be finished and saved; a second one ends the
/// process at once.
void stop_in_order();

/// Undoes stop_in_order(): a signal ends the process at once.
void stop_at_once();

/// Clears a SIGINT that has been handled, so that the program continues. Other signals are not cleared.
void forget_interrupt();

/// The signal that asked the program to stop, or 0.
int stop_signal();
inline bool stop_requested() { return stop_signal() != 0; }
/// For poll(): readable from the signal that asked the program to stop until forget_interrupt(); -1 if the system had no descriptor.
int stop_descriptor();

}  // namespace dikkat
