#include "train/cli/signals.h"

#include <csignal>

#include <unistd.h>

namespace dikkat {
namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t in_order = 0;

extern "C" void on_signal(int signal) {
  if (received != 0 || in_order == 0) {
    ::_exit(128 + signal);
  }
  received = signal;
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

void stop_in_order() { in_order = 1; }
void stop_at_once() { in_order = 0; }
void forget_interrupt() {
  if (received == SIGINT) {
    received = 0;
  }
}
int stop_signal() { return received; }

}  // namespace dikkat
