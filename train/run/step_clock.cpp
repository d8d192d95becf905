#include "train/run/step_clock.h"

#include <algorithm>

#include "autograd/base/seconds_since.h"

namespace dikkat {

void StepClock::begin_step(index passes) {
  start_ = std::chrono::steady_clock::now();
  if (profile_ != nullptr) {
    profile_->step_begins();
  }
  ranks_.take_exchange_seconds();  // drops exchanges before the step
  passes_ = passes;
  passes_made_ = 0;
  flops_ = 0;
}

bool StepClock::has_time() const { return seconds_since(start_) < most_seconds_; }

void StepClock::end_pass(double flops) {
  ++passes_made_;
  flops_ += flops;
}

double StepClock::end_passes(GradientExchange::Seconds exchange) {
  exchange_ = exchange;
  return seconds_since(start_) - exchange.waiting;
}

void StepClock::end_step(StepReport& report) {
  const double all_passes = static_cast<double>(passes_) / static_cast<double>(passes_made_);  // above 1 if they were limited
  report.seconds = (seconds_since(start_) - report.optimizer_seconds) * all_passes + report.optimizer_seconds;
  const double blocking = ranks_.take_exchange_seconds();
  // In tiny steps the exchange's thread may wake after this one began to wait.
  report.exchange_seconds = std::max(exchange_.exchanging, exchange_.waiting) + blocking;
  report.waited_seconds = exchange_.waiting + blocking;
  run_seconds_ += report.seconds;
  report.mfu = reference_.share(flops_ * all_passes / report.seconds, run_seconds_);
  if (profile_ != nullptr) {
    profile_->step_ends(report.seconds);
  }
}

}  // namespace dikkat
