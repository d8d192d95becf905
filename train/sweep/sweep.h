#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/metrics/reports.h"

// The order of a sweep's runs, and the decisions by their losses. Nothing here trains or touches files.
//
// Successive halving: at each rung (a number of steps) all remaining combinations have trained for that long with the first seed. The best
// 1/eta of them, rounded up, continue. Those that reach the end also run with the other seeds. At equal losses, the earlier combination is
// preferred. A run that fails, or whose loss is not a number, never continues.
namespace dikkat {

struct SweepPlan {
  std::vector<index> max_steps;  // steps of each combination; all equal if there are rungs
  std::vector<index> seeds;      // one or more
  index eta = 3;                 // 0: no halving, every run trains to its end

  index combinations() const { return static_cast<index>(max_steps.size()); }
  /// Returns the steps, before the last one, at which runs are compared: max_steps / eta^k, rounded up, for k = K ... 1. eta^K is at most
  /// the number of combinations.
  std::vector<index> rungs() const;
};

/// Returns how many of `count` combinations continue after a rung.
inline index survivors(index count, index eta) { return ceil_div(count, eta); }

/// A part of a run, from one rung (0: the start) to the next.
struct Leg {
  index combination = 0;
  index seed = 0;
  index from = 0, steps = 0;

  bool operator==(const Leg&) const = default;
};

struct LegResult {
  Leg leg;
  index step = 0;                                          // steps done: leg.steps, unless the run failed earlier
  double loss = std::numeric_limits<double>::quiet_NaN();  // validation loss at leg.steps
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double accuracy = -1;  // the metric that decides (EvaluationReport::decided_by) at leg.steps; -1 for runs without one
  std::string decided_by{};
  std::string scored{};   // LossFingerprint::targets, which identifies the tokens that the loss is over; empty: unknown
  double seconds = 0;     // seconds of the run so far
  std::string failure{};  // why the run failed; empty: it did not fail

  bool failed() const;
  /// Returns the score by which runs are compared (is_better()).
  EvaluationScore score() const { return {.val_loss = loss, .accuracy = accuracy}; }
};

/// The decisions of successive halving.
struct Halving {
  bool complete = false;          // all legs have ended
  std::vector<index> stopped_at;  // each combination's rung, counted from 1, after which it was stopped; 0: it was not stopped
};

/// Walks through a sweep. Trains each leg that is not in `ended` by calling `train`, and adds its result. The walk ends if `train` returns
/// nullopt, because it was asked to stop. Another walk with the same `ended` continues there.
Halving walk(const SweepPlan& plan, std::vector<LegResult>& ended, const std::function<std::optional<LegResult>(const Leg&)>& train);

/// An upper bound of a sweep's remaining work: the slowest combinations might be the best.
struct Forecast {
  index runs = 0;  // runs that have not begun
  index legs = 0;
  double seconds = 0;
};
/// Estimates the remaining work. `seconds` has the seconds of a whole run of each combination.
Forecast forecast(const SweepPlan& plan, std::vector<LegResult> ended, std::span<const double> seconds);

/// A row of a sweep's table.
struct Standing {
  enum class State { finished, stopped, unfinished, waiting, failed };

  index combination = 0;
  State state = State::waiting;
  index rung = 0;              // the rung after which it was stopped, counted from 1
  index stage = 0;             // rungs reached with the first seed, including the end; losses are comparable at equal stages
  index step = 0;              // the step of the loss
  std::vector<index> seeds{};  // the loss is the mean over these
  double loss = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // the mean's, over seeds; with one seed, the evaluation's
  double accuracy = -1;                                              // the mean over these seeds; -1 without a metric that decides
  std::string decided_by{};                                          // its name
  double seconds = 0;                                                // seconds of all its runs
  std::string failure{};
};

/// Returns all combinations, the best first: by how far they came, then by score (is_better()). Those that failed are last.
std::vector<Standing> standings(const SweepPlan& plan, const std::vector<LegResult>& ended);

/// Returns two results whose losses are over different tokens, so that the best cannot be chosen. Returns null pointers if all are
/// comparable.
std::pair<const LegResult*, const LegResult*> find_incomparable(const std::vector<LegResult>& ended);

/// Returns whether the first of standings() is a winner. It is not if it has no loss yet, or failed.
inline bool has_winner(const std::vector<Standing>& all) {
  return !all.empty() && all.front().stage > 0 && all.front().state != Standing::State::failed;
}

}  // namespace dikkat
