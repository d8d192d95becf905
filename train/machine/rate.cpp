#include "train/machine/rate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "autograd/base/pages.h"
#include "autograd/kernels/gemm/gemm.h"

namespace dikkat {

namespace {

double steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double gemm_rate(DType operands) { return gemm_rate_by(operands, steady_seconds); }

double gemm_rate_by(DType operands, const std::function<double()>& clock) {
  constexpr index m = 1024, n = 768, k = 768;
  constexpr int kBursts = 3;
  constexpr double kBurst = 0.01;  // seconds
  constexpr auto kPause = std::chrono::milliseconds(10);
  // Pages return to the system immediately. The heap would keep this memory for the whole run.
  const Pages memory((m * k + k * n + m * n) * sizeof(float), "operands to measure the machine with");
  auto* const a = reinterpret_cast<float*>(memory.data());
  float* const b = a + m * k;
  float* const c = b + k * n;
  std::fill_n(a, m * k, 0.5F);
  std::fill_n(b, k * n, 0.25F);
  // Time one product.
  const auto product = [&] {
    const double start = clock();
    const auto multiply = [&](auto problem, const auto* x) {  // activations have the type of operands, weights are f32
      problem = {.m = m, .n = n, .k = k, .a = x, .lda = k, .b = b, .ldb = n, .c = c, .ldc = n};
      kernels::gemm(problem);
    };
    if (operands == DType::bf16) {
      multiply(kernels::Bf16Gemm{}, reinterpret_cast<const bf16*>(a));
    } else {
      multiply(kernels::Gemm<float>{}, a);
    }
    return clock() - start;
  };
  // Keep the best of several bursts, since other programs can only slow a product down.
  product();  // starts the threads
  double best = std::numeric_limits<double>::infinity();
  for (int burst = 0; burst < kBursts; ++burst) {
    if (burst > 0) {
      std::this_thread::sleep_for(kPause);
    }
    const double start = clock();
    do {
      best = std::min(best, product());
    } while (clock() - start < kBurst);
  }
  return 2.0 * m * n * k / best;
}

ReferenceRate::ReferenceRate(std::function<double()> measure) : measure_(std::move(measure)) {
  take(measure_());
  take(measure_());
}

void ReferenceRate::take(double rate) {
  lowest_ = std::fmin(lowest_, rate);  // fmin() and fmax() ignore NaN
  second_ = rate <= highest_ ? std::fmax(second_, rate) : highest_;
  highest_ = std::fmax(highest_, rate);
}

bool ReferenceRate::is_known() const {
  constexpr double kAgree = 0.9;
  return second_ >= kAgree * highest_;
}

double ReferenceRate::share(double rate, double seconds) {
  constexpr double kLater = 4;  // each measurement is at this many times the seconds of the last: ten are enough for weeks
  if (measure_ && (seconds >= next_measurement_ || rate > highest_)) {
    take(measure_());
    next_measurement_ = std::max(next_measurement_, seconds * kLater);
  }
  if (rate > highest_) {
    take(rate);  // a step counts as a measurement
  }
  return is_known() ? rate / highest_ : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace dikkat
