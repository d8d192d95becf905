#pragma once

#include <functional>
#include <limits>

#include "autograd/base/dtype.h"

namespace dikkat {

/// FLOP/s of matrix products of f32 or bf16 on this machine now, on thread_count() threads: what MFU is measured against. It is the best of
/// several products of 1024 x 768 x 768, in short bursts with pauses, since another program may use the cores for a while. It takes about
/// 0.05 s.
double gemm_rate(DType operands);

/// The same with another clock, which returns seconds.
double gemm_rate_by(DType operands, const std::function<double()>& clock);

/// The rate that MFU is a share of: the highest that was measured so far. Another program that runs meanwhile only makes a measurement too
/// low. So the rate is measured twice at the start, again in the course of the run at rising intervals, and whenever a step was faster. It
/// counts as known once the two highest measurements agree, because two that were disturbed rarely do.
class ReferenceRate {
 public:
  ReferenceRate() = default;
  /// Measures twice. `measure` returns FLOP/s.
  explicit ReferenceRate(std::function<double()> measure);

  /// The share that a step's rate has; NaN as long as the reference is not known. May measure again. `seconds`: how long the run has
  /// trained.
  double share(double rate, double seconds);

  double highest() const { return highest_; }  ///< NaN without `measure`
  double lowest() const { return lowest_; }
  /// Whether the two highest measurements differ by 10 % or less.
  bool is_known() const;

 private:
  void take(double rate);

  std::function<double()> measure_;
  double highest_ = std::numeric_limits<double>::quiet_NaN(), second_ = highest_, lowest_ = highest_;
  double next_look_ = 2;  // seconds of training
};

}  // namespace dikkat
