#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include "train/machine/profile.h"
#include "train/machine/rate.h"
#include "train/metrics/reports.h"
#include "train/parallel/gradient_exchange.h"

namespace dikkat {

/// Measures the steps of a run: the time of their parts, how long ranks exchange, and the MFU. It can also limit the passes of a step.
class StepClock {
 public:
  /// Keeps a reference.
  explicit StepClock(Ranks& ranks) : ranks_(ranks) {}

  /// Measures the rate for StepReport::mfu: calls `measure` (gemm_rate(), machine_rate.h) now, and later as ReferenceRate does.
  void measure_reference(std::function<double()> measure) { reference_ = ReferenceRate(std::move(measure)); }
  const ReferenceRate& reference() const { return reference_; }
  /// Also records the steps in `profile`, which may be null and must outlive them.
  void set_profile(Profile* profile) { profile_ = profile; }
  /// Makes steps end their passes after so many seconds. Their time is then extrapolated to all passes.
  void limit_passes(double seconds) { most_seconds_ = seconds; }

  /// Begins a step, of which this rank makes so many passes.
  void begin_step(index passes);
  /// Returns whether the step has time for another pass: always, unless limit_passes() was called.
  bool has_time() const;
  /// Ends a forward and backward pass of so many operations.
  void end_pass(double flops);
  /// Ends the passes. `exchange` has the times of the exchange of gradients. Returns the seconds in which this rank computed.
  double end_passes(GradientExchange::Seconds exchange);
  /// Measures a part of the step for the profile, until the result is destroyed.
  Profile::Piece piece(const char* name, Cost cost = {}) const { return {profile_, name, cost}; }
  /// Ends the step, and writes its times and its MFU to the report. optimizer_seconds must be set.
  void end_step(StepReport& report);

 private:
  Ranks& ranks_;
  ReferenceRate reference_;
  Profile* profile_ = nullptr;
  double most_seconds_ = std::numeric_limits<double>::infinity();
  double run_seconds_ = 0;  // all steps of this process
  // The current step:
  std::chrono::steady_clock::time_point start_;
  index passes_ = 0, passes_made_ = 0;
  double flops_ = 0;
  GradientExchange::Seconds exchange_;
};

}  // namespace dikkat
