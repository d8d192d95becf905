#include "train/cli/signals.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace dikkat {
namespace {

// Not volatile sig_atomic_t: the kernel gives a signal to any thread, and the threads that look are others.
std::atomic<int> received = 0;
std::atomic<bool> in_order = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "handlers may touch nothing else");

extern "C" void on_signal(int signal) {
  int none = 0;
  if (!in_order || !received.compare_exchange_strong(none, signal)) {  // two threads may be given one each at the same time
    ::_exit(128 + signal);
  }
}

}  // namespace

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
}

void stop_in_order() { in_order = true; }
void stop_at_once() { in_order = false; }
void forget_interrupt() {
  int interrupt = SIGINT;
  received.compare_exchange_strong(interrupt, 0);  // not what came since it was looked at
}
int stop_signal() { return received; }

}  // namespace dikkat
