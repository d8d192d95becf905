#pragma once

#include <chrono>
#include <string>

#include "train/loop/trainer.h"

namespace dikkat {

/// Tells a person on stderr how something goes that may take longer than a moment: one line that moves on a terminal, one in ten seconds
/// elsewhere; nothing where it was over before.
class PassingLine {
 public:
  PassingLine();
  ~PassingLine();
  PassingLine(const PassingLine&) = delete;
  PassingLine& operator=(const PassingLine&) = delete;

  /// `what` is being done: `bytes` so far (0: not said), `share` of all (below 0: not known).
  void show(const std::string& what, double bytes, double share);

 private:
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point due_, start_;
  std::string what_;
};

/// Of reading a corpus.
class LoadingLine {
 public:
  void operator()(const LoadingReport& report);

 private:
  PassingLine line_;
};

/// Of something whose end is known.
class ShareLine {
 public:
  explicit ShareLine(std::string what) : what_(std::move(what)) {}
  void operator()(double share) { line_.show(what_, 0, share); }

 private:
  std::string what_;
  PassingLine line_;
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
  void skipped(const std::string& what) override;
  void write_failed(const std::string& what) override;

 private:
  void show(const std::string& line);   // in place of the one before
  void print(const std::string& line);  // to stay

  index max_steps_, log_interval_, first_step_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
  std::string last_;    // the line of the last step
  std::string failed_;  // the last failure that was told: a full disk need not be told of with every step
};

}  // namespace dikkat
