#pragma once

namespace dikkat {

/// SIGINT and SIGTERM ask the work to end in order; a second one ends the process at once. SIGPIPE and SIGXFSZ become errors of the
/// write that caused them.
void handle_signals();

/// The signal that asked for an end, or 0.
int stop_signal();
inline bool stop_requested() { return stop_signal() != 0; }

}  // namespace dikkat
