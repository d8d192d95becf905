#pragma once

#include <vector>

#include "train/parallel/data_parallel_step.h"
#include "train/run/objectives/objective.h"

namespace dikkat {

/// The losses of a step's micro-batches, and what the objective reports of each. Ranks share them, and add them in the order of the
/// micro-batches, so that sums depend on neither threads nor ranks.
class PassReports {
 public:
  /// Keeps a reference to the objective. Reserves memory for steps of `most` micro-batches.
  PassReports(const Objective& objective, index most);

  /// Begins a step of so many micro-batches.
  void begin(index passes);
  /// Returns where the objective writes its report of a pass.
  PassReport report(index pass) { return {.sums = sums_of(pass)}; }
  void set_loss(index pass, double loss) { losses_[static_cast<std::size_t>(pass)] = loss; }

  /// Adds up the reports of the passes of all ranks, in the step's report. `seconds`: how long this rank computed.
  void add(DataParallelStep& step, Ranks& ranks, double seconds, StepReport& report);

  /// Returns the losses of the step's micro-batches.
  const std::vector<double>& losses() const { return losses_; }

 private:
  std::span<double> sums_of(index pass) { return std::span(sums_).subspan(static_cast<std::size_t>(pass) * count_, count_); }

  const Objective& objective_;
  std::size_t count_;                  // numbers that a pass reports
  std::vector<double> losses_, sums_;  // losses and numbers of each micro-batch
};

}  // namespace dikkat
