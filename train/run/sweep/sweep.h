#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

// The order of a sweep's runs, and what follows from their losses. Nothing here trains or touches files.
//
// Successive halving: at each rung (a number of steps) all combinations that are left have trained for that long with the first seed, and
// the best 1/eta of them go on, rounded up. Those that reach the end also run with the other seeds. Among equal losses the earlier
// combination is preferred. A run whose loss is no number, or which fails, never goes on.
namespace dikkat {

struct SweepPlan {
  std::vector<index> max_steps;  // of each combination; all equal if there are rungs
  std::vector<index> seeds;      // one or more
  index eta = 3;                 // 0: no halving, every run goes to its end

  index combinations() const { return static_cast<index>(max_steps.size()); }
  /// Steps at which runs are compared, before the last: max_steps / eta^k, rounded up, for k = K ... 1, where eta^K is at most the number
  /// of combinations.
  std::vector<index> rungs() const;
};

/// How many of `count` combinations go on after a rung.
inline index survivors(index count, index eta) { return ceil_div(count, eta); }

/// A piece of a run: from one rung (0: the start) to the next.
struct Leg {
  index combination = 0;
  index seed = 0;
  index from = 0, steps = 0;

  bool operator==(const Leg&) const = default;
};

struct LegResult {
  Leg leg;
  index step = 0;                                          // steps done: leg.steps, unless the run failed before
  double loss = std::numeric_limits<double>::quiet_NaN();  // over the validation part, at leg.steps
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  std::string scored{};   // what the loss is over: ScoredSet::targets; empty: not known
  double seconds = 0;     // of the run so far
  std::string failure{};  // why the run failed; empty: it did not

  bool failed() const;
};

/// What halving has decided.
struct Halving {
  bool complete = false;          // all legs have ended
  std::vector<index> stopped_at;  // of each combination: the rung (from 1) after which it was stopped; 0: it was not
};

/// Walks through a sweep. A leg that is not in `ended` is trained by `train`, and its result added. Where train returns nullopt, because it
/// was told to stop, the walk ends; another one with the same `ended` continues there.
Halving walk(const SweepPlan& plan, std::vector<LegResult>& ended, const std::function<std::optional<LegResult>(const Leg&)>& train);

/// What is left to do, at most: the slowest combinations might be the best.
struct Forecast {
  index runs = 0;  // that begin
  index legs = 0;
  double seconds = 0;
};
/// `seconds` is what a whole run of each combination takes.
Forecast forecast(const SweepPlan& plan, std::vector<LegResult> ended, std::span<const double> seconds);

/// A row of a sweep's table.
struct Standing {
  enum class State { finished, stopped, unfinished, waiting, failed };

  index combination = 0;
  State state = State::waiting;
  index rung = 0;              // where it was stopped, from 1
  index stage = 0;             // rungs that were reached with the first seed, the end included: losses are comparable at equal stages
  index step = 0;              // that the loss belongs to
  std::vector<index> seeds{};  // that the loss is the mean of
  double loss = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // of the mean over seeds; of one seed: of its evaluation
  double seconds = 0;                                                // of all runs
  std::string failure{};
};

/// All combinations, the best first: those that came further, then those with the lower loss. Those that failed are last.
std::vector<Standing> standings(const SweepPlan& plan, const std::vector<LegResult>& ended);

/// Two results whose losses are over different tokens, so that no best can be chosen; null pointers if there are none.
std::pair<const LegResult*, const LegResult*> find_incomparable(const std::vector<LegResult>& ended);

/// Whether the first of standings() is a winner, or nothing has a loss yet.
inline bool has_winner(const std::vector<Standing>& all) {
  return !all.empty() && all.front().stage > 0 && all.front().state != Standing::State::failed;
}

}  // namespace dikkat
