#include "train/cli/signals.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "train/io/mapped_file.h"

namespace dikkat {
namespace {

// Not volatile sig_atomic_t: the kernel gives a signal to any thread, and the threads that look are others.
std::atomic<int> received = 0;
std::atomic<bool> in_order = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "handlers may touch nothing else");

extern "C" void on_signal(int signal) {
  if (received == SIGHUP && signal == SIGHUP) {
    return;  // a terminal that is closed sends it by way of the shell, and once more by itself
  }
  int none = 0;
  if (!in_order || !received.compare_exchange_strong(none, signal)) {  // two threads may be given one each at the same time
    ::_exit(128 + signal);
  }
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

void stop_in_order() { in_order = true; }
void stop_at_once() { in_order = false; }
void forget_interrupt() {
  int interrupt = SIGINT;
  received.compare_exchange_strong(interrupt, 0);  // not what came since it was looked at
}
int stop_signal() { return received; }

}  // namespace dikkat
