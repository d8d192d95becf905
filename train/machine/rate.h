#pragma once

#include <functional>
#include <limits>

#include "autograd/base/dtype.h"

namespace dikkat {

/// Returns the FLOP/s of matrix products of f32 or bf16 on this machine now, on thread_count() threads. MFU is measured against it. It is
/// the best of several products of 1024 x 768 x 768. They run in short bursts with pauses, since another program may use the cores for a
/// while. Takes about 0.05 s.
double gemm_rate(DType operands);

/// Measures as gemm_rate() does, by a clock that returns seconds.
double gemm_rate_by(DType operands, const std::function<double()>& clock);

/// The rate that MFU is a share of: the highest rate measured so far. Other programs can only make a measurement too low. So the rate is
/// measured twice at the start, at rising intervals during the run, and whenever a step was faster. It is known once the two highest
/// measurements agree, because two disturbed ones rarely do.
class ReferenceRate {
 public:
  ReferenceRate() = default;
  /// Measures twice. `measure` returns FLOP/s.
  explicit ReferenceRate(std::function<double()> measure);

  /// Returns a step's rate as a share of the reference; NaN until the reference is known. May measure again. `seconds` is how long the run
  /// has trained.
  double share(double rate, double seconds);

  double highest() const { return highest_; }  ///< NaN without measurements
  double lowest() const { return lowest_; }
  /// Returns whether the two highest measurements differ by at most 10 %.
  bool is_known() const;

 private:
  void take(double rate);

  std::function<double()> measure_;
  double highest_ = std::numeric_limits<double>::quiet_NaN(), second_ = highest_, lowest_ = highest_;
  double next_measurement_ = 2;  // seconds of training
};

}  // namespace dikkat
