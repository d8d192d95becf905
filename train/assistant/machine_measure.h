#pragma once

#include <chrono>

#include "train/assistant/events.h"
#include "train/assistant/measure.h"

namespace dikkat::assistant {

/// Measures this machine.
class MachineMeasure : public Measure {
 public:
  using Clock = std::chrono::steady_clock;
  /// `start` is when planning began. The events must outlive this.
  MachineMeasure(Precision precision, Clock::time_point start, Events& events) : precision_(precision), start_(start), events_(events) {}

  double product_rate() override;
  StageTrial try_stage(const StageRun& run, const std::string& sample) override;
  std::string objection_to(const StageRun& run, const std::string& tokenizer) override;
  double seconds() override;

 private:
  Precision precision_;
  Clock::time_point start_;
  Events& events_;
};

}  // namespace dikkat::assistant
