#include <algorithm>
#include <atomic>
#include <csignal>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::signals_test {
namespace {

std::atomic<long> ticks = 0;

/// A handler, and a timer that sends its signal to the process every 200 us.
class Ticks {
 public:
  Ticks() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++ticks; };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR2, &action, &before_);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const timespec period{.tv_sec = 0, .tv_nsec = 200'000};
    const itimerspec times{.it_interval = period, .it_value = period};
    EXPECT_EQ(::timer_settime(timer_, 0, &times, nullptr), 0);
  }
  ~Ticks() {
    ::timer_delete(timer_);
    ::sigaction(SIGUSR2, &before_, nullptr);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  timer_t timer_{};
  struct sigaction before_{};
};

TEST(Signals, OfAUsersProgramHarmNoProduct) {
  constexpr index kM = 96;
  constexpr index kN = 512;
  constexpr index kK = 768;
  const std::vector<float> a = testing::numbers(kM * kK, 1);
  const std::vector<float> b = testing::numbers(kN * kK, 2);
  std::vector<float> expected(kM * kN);
  std::vector<float> c(kM * kN);
  const Gemm<float> product{
      .m = kM, .n = kN, .k = kK, .a = a.data(), .lda = kM, .transpose_a = true, .b = b.data(), .ldb = kN, .c = expected.data(), .ldc = kN};
  start_threads();
  gemm(product);
  Gemm<float> again = product;
  again.c = c.data();
  const Ticks started;
  const long before = ticks;
  for (int i = 0; ticks < before + 300; ++i) {
    std::fill(c.begin(), c.end(), 0.0F);
    gemm(again);
    ASSERT_TRUE(c == expected) << i;
  }
}

}  // namespace
}  // namespace dikkat::kernels::signals_test
