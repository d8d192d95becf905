#pragma once

namespace dikkat {

/// For main(), before any other thread is started: blocks signals on this thread, and so on all that it starts, and starts one thread that
/// takes them. So no handler ever runs on a thread that computes (autograd/base/signals.h says why).
///
/// SIGINT, SIGTERM and SIGHUP (where it is not ignored, as under nohup) end the process at once with exit code 128 + signal, since there is
/// nothing to save yet. SIGPIPE and SIGXFSZ become errors of the write that caused them. A SIGBUS from a mapped file that was cut short
/// ends the process with exit code 2 and a sentence that names the file. Throws Error where the system lets no thread be started.
void handle_signals();

/// From now on the first of these signals only sets stop_signal(), so that the work can end in order; a second one ends the process at
/// once.
void stop_in_order();

/// Takes that back: a signal ends the process at once.
void stop_at_once();

/// Forgets a SIGINT that has been obeyed, so that the program goes on. Other signals are not forgotten.
void forget_interrupt();

/// The signal that asked for an end, or 0.
int stop_signal();
inline bool stop_requested() { return stop_signal() != 0; }
/// For poll(): readable once a signal has asked for an end, until it is forgotten; -1 where the system had none.
int stop_descriptor();

}  // namespace dikkat
