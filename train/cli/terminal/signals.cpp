#include "train/cli/terminal/signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "autograd/base/signals.h"
#include "train/system/mapped_file.h"

namespace dikkat {
namespace {

// Atomics rather than volatile sig_atomic_t: other threads than the one that receives signals read them.
std::atomic<int> received = 0;
std::atomic<int> news = -1;  // an eventfd that is readable after a signal
std::atomic<bool> in_order = false;
// True for a rank under MPICH, whose launcher does not end the other ranks when one exits before it is connected.
std::atomic<bool> ends_by_signal = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "a handler may only use lock-free atomics");

extern "C" void on_signal(int signal) {
  if (received == SIGHUP && signal == SIGHUP) {
    return;  // a terminal that is closed sends it twice: through the shell, and directly
  }
  int none = 0;
  if (!in_order || !received.compare_exchange_strong(none, signal)) {
    if (ends_by_signal) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);  // when this handler returns
      return;
    }
    ::_exit(128 + signal);
  }
  const int before = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(news, &one, sizeof one);
  errno = before;
}

void write_error(const char* text) { [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text)); }

/// Reports a page of a mapped file that is no longer there. Any other bus error ends the process as if there were no handler. This is the
/// only signal that is handled on the thread that raised it, with an instruction that reads a mapped file.
extern "C" void on_bus_error(int signal, siginfo_t* info, void*) {
  constexpr int kBadInput = 2;
  const bool raised_by_an_instruction = info->si_code > 0;
  if (const char* path = raised_by_an_instruction ? mapped_file_at(info->si_addr) : nullptr) {
    write_error("dikkat: ");
    write_error(path);
    write_error(" was cut short or became unreadable while it was in use: restore it; the checkpoints are intact\n");
    ::_exit(kBadInput);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // when this handler returns
}

/// Runs the only thread whose signals are not blocked, so the system delivers every signal for the process to it. All handlers run here,
/// including those of libraries; signals without a handler have their default effect. Signals that the parent had blocked stay blocked.
void* take_signals(void* mask_at_start) {
  pthread_sigmask(SIG_SETMASK, static_cast<const sigset_t*>(mask_at_start), nullptr);
  for (;;) {
    ::pause();
  }
}

void start_thread_for_signals(const sigset_t& mask_at_start) {
  constexpr std::size_t kStack = std::size_t{256} << 10;
  static sigset_t mask;
  mask = mask_at_start;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, take_signals, &mask);
  pthread_attr_destroy(&attributes);
  require(error == 0, "the thread that receives signals cannot be started: error ", error,
          "; raise the limits on threads and memory (ulimit -u, ulimit -v)");
  pthread_setname_np(thread, "signals");
}

}  // namespace

void handle_signals() {
  const sigset_t mask_at_start = block_signals_for_good();
  news = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ends_by_signal = std::getenv("PMI_RANK") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // mpirun passes this one on at once, and Slurm can send it before a job's time is up (--signal=USR1@300).
  sigaction(SIGUSR1, &action, nullptr);
  struct sigaction hangup{};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {  // under nohup it stays ignored
    sigaction(SIGHUP, &action, nullptr);
  }
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  start_thread_for_signals(mask_at_start);
}

void stop_in_order() { in_order = true; }
void stop_at_once() { in_order = false; }
void forget_interrupt() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = ::read(news, &count, sizeof count);
  int interrupt = SIGINT;
  received.compare_exchange_strong(interrupt, 0);  // keeps another signal that has arrived since
}
int stop_signal() { return received; }
int stop_descriptor() { return news; }

}  // namespace dikkat
