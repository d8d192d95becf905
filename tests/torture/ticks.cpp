// Preloaded into the program (LD_PRELOAD), this sets a timer before main() that sends the process a signal every DIKKAT_TICK microseconds.
// A handler counts them, and at the end the count is written to the file DIKKAT_TICKS.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <time.h>

namespace {

std::atomic<long> ticks = 0;

extern "C" void on_tick(int) { ++ticks; }

[[gnu::constructor]] void start() {
  const char* interval = std::getenv("DIKKAT_TICK");
  if (interval == nullptr) {
    return;
  }
  struct sigaction action{};
  action.sa_handler = on_tick;
  ::sigaction(SIGUSR2, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  timer_t timer{};
  const timespec period{.tv_sec = 0, .tv_nsec = std::atol(interval) * 1000};
  const itimerspec times{.it_interval = period, .it_value = period};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &times, nullptr) != 0) {
    std::abort();
  }
}

[[gnu::destructor]] void tell() {
  const char* path = std::getenv("DIKKAT_TICKS");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file != nullptr) {
    std::fprintf(file, "%ld\n", ticks.load());
    std::fclose(file);
  }
}

}  // namespace
