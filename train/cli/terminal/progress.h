#pragma once

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "train/cli/terminal/terminal.h"
#include "train/parallel/slow_rank.h"
#include "train/run/trainer.h"

namespace dikkat {

/// Shows the progress of long work on standard error, starting after 1.5 seconds: one line that is redrawn on a terminal, or a line every
/// ten seconds elsewhere.
class PassingLine {
 public:
  PassingLine();
  ~PassingLine();
  PassingLine(const PassingLine&) = delete;
  PassingLine& operator=(const PassingLine&) = delete;

  enum class Unit { bytes, tokens };
  /// Shows `what`, the name of the work, the amount done so far (0: not shown) and its share of the whole (0 or less: unknown).
  void show(const std::string& what, double done, double share, Unit unit = Unit::bytes);
  /// Removes the line, so that something else can be printed. The next show() draws it again.
  void clear();

 private:
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point due_, start_;
  std::string what_;
};

/// Shows the progress of reading a corpus.
class LoadingLine {
 public:
  void operator()(const LoadingReport& report);

 private:
  PassingLine line_;
};

/// Shows the progress of work whose end is known.
class ShareLine {
 public:
  explicit ShareLine(std::string what) : what_(std::move(what)) {}
  void operator()(double share) { line_.show(what_, 0, share); }

 private:
  std::string what_;
  PassingLine line_;
};

/// Shows the progress of training on standard error: a line every log_interval steps, and on a terminal a redrawn line below them.
class Progress : public TrainingEvents {
 public:
  explicit Progress(const Trainer& trainer);
  ~Progress() override;

  void stepped(const StepReport& report) override;
  void preparing(std::string_view what, double share_done) override;
  void evaluating(double share_done) override;
  void evaluated(const EvaluationReport& report) override;
  void saved(const SavedCheckpoint& saved) override;
  void skipped(const std::string& what) override;
  void not_sampled(const std::string& what) override;
  void write_failed(const std::string& what) override;
  std::string stopped() override;

  /// Returns the optimizer's share of the time of all steps, from 0 to 1; 0 before the first step.
  double optimizer_share() const { return step_seconds_ > 0 ? optimizer_seconds_ / step_seconds_ : 0; }
  /// Returns a remark on the time that ranks exchanged and waited, and on their memory; empty for one process.
  std::string remark_on_ranks() const;
  /// Returns whether both losses fell at the last evaluation, and the validation loss was the lowest so far.
  bool losses_fall() const { return losses_fall_; }
  /// Returns the mean probability of the token that ends an answer, where one ends, at the last evaluation; NaN if it is not known.
  double end_probability() const { return end_probability_; }

 private:
  std::vector<LinePart> line_of(const StepReport& report) const;
  void show(std::vector<LinePart> parts);  // redraws the last line on a terminal
  void clear();                            // removes that line

  const Accumulation& accumulation_;
  index max_steps_, log_interval_, first_step_;
  const Ranks& ranks_;
  SlowRank slow_rank_;
  std::vector<double> rank_memory_;  // the bytes of each rank at the last step
  index steps_ = 0;
  double step_seconds_ = 0, optimizer_seconds_ = 0, exchange_seconds_ = 0, waited_seconds_ = 0;
  double train_loss_ = std::numeric_limits<double>::quiet_NaN();  // the loss at the last evaluation
  double end_probability_ = std::numeric_limits<double>::quiet_NaN();
  bool losses_fall_ = false;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
  LinePart last_;       // "step 7/100", for the last step
  std::string failed_;  // the last failure shown, so that a full disk is not reported at every step
};

}  // namespace dikkat
