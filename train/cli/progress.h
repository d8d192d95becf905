#pragma once

#include <chrono>
#include <string>

#include "train/loop/trainer.h"

namespace dikkat {

/// Tells a person on stderr how reading a corpus goes, where it takes longer than a moment: one line that moves on a terminal, one in ten
/// seconds elsewhere.
class LoadingLine {
 public:
  LoadingLine();
  ~LoadingLine();
  LoadingLine(const LoadingLine&) = delete;
  LoadingLine& operator=(const LoadingLine&) = delete;
  void operator()(const LoadingReport& report);

 private:
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point due_, stage_start_;
  LoadingReport::Stage stage_ = LoadingReport::Stage::reading;
};

/// Tells a person on stderr how training goes: one line that moves on a terminal, a line every log_interval steps elsewhere.
class Progress : public TrainingEvents {
 public:
  explicit Progress(const Trainer& trainer);
  ~Progress() override;

  void stepped(const StepReport& report) override;
  void evaluating(double share_done) override;
  void evaluated(const EvaluationReport& report) override;
  void saved(const SavedCheckpoint& saved) override;

 private:
  void show(const std::string& line);   // in place of the one before
  void print(const std::string& line);  // to stay

  index max_steps_, log_interval_, first_step_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
  std::string last_;  // the line of the last step
};

}  // namespace dikkat
