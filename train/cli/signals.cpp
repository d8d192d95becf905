#include "train/cli/signals.h"

#include <csignal>
#include <cstring>

#include <unistd.h>

#include "train/data/mapped_file.h"

namespace dikkat {
namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t in_order = 0;

extern "C" void on_signal(int signal) {
  if (received == SIGHUP && signal == SIGHUP) {
    return;  // a terminal that is closed sends it by way of the shell, and once more by itself
  }
  if (received != 0 || in_order == 0) {
    ::_exit(128 + signal);
  }
  received = signal;
}

void say(const char* text) { [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text)); }

/// A page of a mapped file that is there no more; anything else that is a bus error crashes as it would.
extern "C" void on_bus_error(int signal, siginfo_t* info, void*) {
  constexpr int kBadInput = 2;
  if (const char* path = mapped_file_at(info->si_addr)) {
    say("dikkat: ");
    say(path);
    say(" was cut short, or could not be read, while it was in use: bring it back as it was; checkpoints are unharmed\n");
    ::_exit(kBadInput);
  }
  ::signal(signal, SIG_DFL);  // and the instruction is tried again
}

}  // namespace

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {  // nohup ignores it, and so do we then
    sigaction(SIGHUP, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
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
